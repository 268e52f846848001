// Instants in the reader's zone, with UTC on hover; spans; and one shared tick for everything that counts.
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { useSettings } from '../app/settings';
import { instantOf, localZone, showInstant, showRelative, showSpan } from '../app/time';

let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The time of day, once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** Dates follow the region of the reader's browser when it speaks the chosen language (en-GB), else the language. */
function useFormatTag(): string {
  const { i18n } = useTranslation();
  return navigator.languages.find((tag) => tag.toLowerCase().split('-')[0] === i18n.language) ?? i18n.language;
}

export function useZone(): string {
  return useSettings().clock === 'utc' ? 'UTC' : localZone();
}

function utcTitle(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** An instant; `zone` shows it in another zone than the reader's. */
export function Time({ value, zone }: { value: string | null | undefined; zone?: string }) {
  const tag = useFormatTag();
  const own = useZone();
  const ms = instantOf(value);
  if (ms === null) return <span className="muted">–</span>;
  return (
    <time dateTime={value ?? undefined} title={utcTitle(ms)} className="time">
      {showInstant(ms, tag, zone ?? own, Date.now())}
    </time>
  );
}

/** "in 5 min"; `ahead`: what is yet to come is never in the past, at most it is now. The instant itself on hover and for those who read the markup. */
export function Ago({ value, ahead = false }: { value: string | null | undefined; ahead?: boolean }) {
  const { i18n } = useTranslation();
  const tag = useFormatTag();
  const zone = useZone();
  const tick = useNow();
  const ms = instantOf(value);
  if (ms === null) return <span className="muted">–</span>;
  const absolute = showInstant(ms, tag, zone, tick);
  return (
    <time dateTime={value ?? undefined} title={`${absolute} (${zone})\n${utcTitle(ms)}`} className="time">
      {showRelative(ahead ? Math.max(ms, tick) : ms, tick, i18n.language) ?? absolute}
    </time>
  );
}

export function useSpan(): (ms: number) => string {
  const { t } = useTranslation();
  return (ms) => showSpan(ms, (name, n) => t(`span.${name}`, { n }));
}

/** From `from` to `to`; still counting while `to` is missing and `live`. */
export function Span({ from, to, live = true }: { from?: string | null; to?: string | null; live?: boolean }) {
  const span = useSpan();
  const start = instantOf(from);
  const end = instantOf(to);
  if (start === null || (end === null && !live)) return <span className="muted">–</span>;
  // Only what still counts looks at the clock: a page of a thousand ended steps is still.
  return end === null ? <LiveSpan start={start} /> : <span className="time">{span(end - start)}</span>;
}

function LiveSpan({ start }: { start: number }) {
  const span = useSpan();
  return <span className="time">{span(useNow() - start)}</span>;
}
