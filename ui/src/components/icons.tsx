// Small drawings on a 16 grid. Decorative: the words beside them carry the meaning.
import type { ReactNode } from 'react';

const PATHS: Record<string, ReactNode> = {
  good: (
    <>
      <circle cx="8" cy="8" r="6.5" />
      <path d="M5 8.2l2.1 2.1L11.2 6" />
    </>
  ),
  bad: (
    <>
      <circle cx="8" cy="8" r="6.5" />
      <path d="M5.700 5.700l4.600 4.600M10.300 5.700l-4.600 4.600" />
    </>
  ),
  busy: (
    <>
      <circle cx="8" cy="8" r="6.500" opacity=".3" />
      <path d="M8 1.500A6.500 6.500 0 0 1 14.500 8" className="spin" />
    </>
  ),
  idle: (
    <>
      <circle cx="8" cy="8" r="6.500" />
      <path d="M8 4.500V8l2.300 1.500" />
    </>
  ),
  void: (
    <>
      <circle cx="8" cy="8" r="6.500" />
      <path d="M3.600 12.400l8.800-8.800" />
    </>
  ),
  warn: (
    <>
      <path d="M8 1.800l6.500 11.700h-13z" />
      <path d="M8 6v3.500M8 11.400v.2" />
    </>
  ),
  odd: (
    <>
      <path d="M8 1.200L14.800 8 8 14.800 1.200 8z" />
      <path d="M6.400 6.500a1.600 1.600 0 1 1 2.300 1.500c-.5.2-.7.5-.7 1M8 10.900v.2" />
    </>
  ),
  paused: (
    <>
      <circle cx="8" cy="8" r="6.500" />
      <path d="M6.300 5.500v5M9.700 5.500v5" />
    </>
  ),
  play: <path d="M4.500 2.800v10.400L13 8z" />,
  pause: <path d="M5.200 3v10M10.800 3v10" />,
  stop: <rect x="3.500" y="3.500" width="9" height="9" rx="1" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.500" />
      <path d="M10.500 10.500L14 14" />
    </>
  ),
  copy: (
    <>
      <rect x="5.500" y="5.500" width="8" height="8" rx="1.500" />
      <path d="M10.500 3.500v-.2a.8.8 0 0 0-.8-.8H3.300a.8.800 0 0 0-.8.800v6.400c0 .400.400.800.800.800h.2" />
    </>
  ),
  settings: (
    <>
      <path d="M2 4.500h7M13 4.500h1M2 11.500h1M7 11.500h7" />
      <circle cx="11" cy="4.500" r="1.800" />
      <circle cx="5" cy="11.500" r="1.800" />
    </>
  ),
  plus: <path d="M8 3v10M3 8h10" />,
  edit: <path d="M3 13l.6-2.800L10.800 3l2.200 2.200-7.200 7.200z" />,
  chevron: <path d="M6 4l4 4-4 4" />,
  close: <path d="M4 4l8 8M12 4l-8 8" />,
  arrow: <path d="M3 8h10M9 4l4 4-4 4" />,
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg className={`icon icon-${name}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {PATHS[name] ?? PATHS.idle}
    </svg>
  );
}

/** The mark: one bell. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M16 2.500a2 2 0 0 1 2 2v.8c4 .9 6.400 4.300 6.800 8.800.4 4.200 1.200 6.200 3.300 8.100.8.8.3 2.300-.9 2.300H4.800c-1.200 0-1.700-1.500-.9-2.300 2.100-1.900 2.900-3.900 3.300-8.100C7.600 9.600 10 6.200 14 5.300v-.8a2 2 0 0 1 2-2z" />
      <circle cx="16" cy="28" r="2.500" />
    </svg>
  );
}

/**
 * Change ringing as bell ringers write it: each column one bell's place, row after row; every stroke swaps neighbours
 * ("plain hunt" on six). One bell's way is drawn thick.
 */
export function Peal({ rows = 13 }: { rows?: number }) {
  const bells = 6;
  const order = [0, 1, 2, 3, 4, 5];
  const ways: number[][] = order.map((place) => [place]);
  for (let row = 1; row < rows; row++) {
    for (let place = row % 2 === 1 ? 0 : 1; place + 1 < bells; place += 2) {
      [order[place], order[place + 1]] = [order[place + 1]!, order[place]!];
    }
    order.forEach((bell, place) => ways[bell]!.push(place));
  }
  const line = (way: number[]): string => way.map((place, row) => `${row === 0 ? 'M' : 'L'}${8 + row * 24} ${8 + place * 18}`).join('');
  return (
    <svg className="peal-art" viewBox={`0 0 ${16 + (rows - 1) * 24} ${16 + (bells - 1) * 18}`} aria-hidden="true" focusable="false">
      {ways.map((way, bell) => (
        <path key={bell} d={line(way)} className={bell === 0 ? 'lead' : undefined} />
      ))}
    </svg>
  );
}
