// Instants and spans as people read them. Pure: the clock, the zone and the language come as arguments.

export function instantOf(text: string | null | undefined): number | null {
  if (!text) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const formats = new Map<string, Intl.DateTimeFormat>();

function format(language: string, zone: string, withYear: boolean): Intl.DateTimeFormat {
  const key = `${language}|${zone}|${withYear}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat(language, {
      timeZone: zone,
      year: withYear ? 'numeric' : undefined,
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(key, found);
  }
  return found;
}

/** "30 Nov, 14:05:09" in a zone; the year only when it is not this one. */
export function showInstant(ms: number, language: string, zone: string, now: number): string {
  const withYear = new Date(ms).getUTCFullYear() !== new Date(now).getUTCFullYear();
  return format(language, zone, withYear).format(ms);
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** "in 5 min", "3 days ago"; null beyond 60 days, where a date says more. */
export function showRelative(ms: number, now: number, language: string): string | null {
  const away = ms - now;
  if (Math.abs(away) > 60 * 86_400_000) return null;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  for (const [unit, size] of UNITS) {
    if (Math.abs(away) >= size || unit === 'second') return relative.format(Math.trunc(away / size), unit);
  }
  return null;
}

/** "350 ms", "4.2 s", "3 min 5 s", "2 h 10 min", "5 d 3 h". */
export function showSpan(ms: number, unit: (name: 'ms' | 's' | 'min' | 'h' | 'd', n: string) => string): string {
  if (ms < 0) ms = 0;
  if (ms < 1_000) return unit('ms', String(Math.round(ms)));
  if (ms < 10_000) return unit('s', (Math.floor(ms / 100) / 10).toFixed(1));
  const seconds = Math.floor(ms / 1_000);
  const steps: [number, 's' | 'min' | 'h' | 'd', number, 's' | 'min' | 'h' | 'd' | null][] = [
    [60, 's', 1, null],
    [3_600, 'min', 60, 's'],
    [86_400, 'h', 3_600, 'min'],
    [Infinity, 'd', 86_400, 'h'],
  ];
  for (const [limit, name, size, rest] of steps) {
    if (seconds >= limit) continue;
    const whole = Math.floor(seconds / size);
    const left = rest ? Math.floor((seconds % size) / (size === 60 ? 1 : size === 3_600 ? 60 : 3_600)) : 0;
    return unit(name, String(whole)) + (rest && left > 0 ? ` ${unit(rest, String(left))}` : '');
  }
  return '';
}

/** The value of an <input type="datetime-local">, read in a zone's offset: local to the browser or UTC. */
export function fromInput(value: string, utc: boolean): string | undefined {
  if (value === '') return undefined;
  const ms = Date.parse(utc ? `${value}Z` : value);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
