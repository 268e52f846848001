// The last runs as strokes of a bell: oldest left, tall = long, and a cap whose shape tells how it ended.
import { useTranslation } from 'react-i18next';
import type { Run } from '../../api/types';
import { isOpen, toneOf } from '../../api/states';
import { instantOf, showInstant } from '../../app/time';
import { useNow, useSpan, useZone } from '../../components/time';
import { useWord } from '../../components/words';

const TALL = 44;
const SHORT = 8;

export function PealStrip({ runs, selected, onSelect }: { project: string; runs: Run[]; selected: string | null; onSelect: (id: string) => void }) {
  const { t, i18n } = useTranslation();
  const word = useWord();
  const zone = useZone();
  const now = useNow();
  const span = useSpan();
  if (runs.length === 0) return null;
  const took = (run: Run): number => {
    const start = instantOf(run.fired_at) ?? now;
    const end = instantOf(run.ended_at) ?? (isOpen(run.state) ? now : start);
    return Math.max(0, end - start);
  };
  const longest = Math.max(...runs.map(took), 1);
  // By square root: twice as long is to be seen, and the short one beside the long one still has a body.
  const height = (ms: number): number => SHORT + (TALL - SHORT) * Math.sqrt(ms / longest);
  const shown = [...runs].reverse();
  return (
    <div className="peal">
      <p className="peal-label" id="peal-label">
        {t('peal.label', { count: runs.length })}
      </p>
      <ol className="peal-strip" aria-labelledby="peal-label">
        {shown.map((run) => {
          const scheduled = instantOf(run.scheduled_at);
          const label = t('peal.run', {
            state: word('state', run.state),
            time: scheduled === null ? '' : showInstant(scheduled, i18n.language, zone, now),
            took: span(took(run)),
          });
          return (
            <li key={run.id}>
              <button
                type="button"
                className={`stroke tone-${toneOf(run.state)}`}
                aria-pressed={run.id === selected}
                aria-label={label}
                title={label}
                onClick={() => onSelect(run.id)}
              >
                <span className="stroke-bar" style={{ height: height(took(run)) }} />
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
