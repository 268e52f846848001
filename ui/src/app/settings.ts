// What a person chose about the look: kept in this browser, applied at once, shared by all components.
import { useSyncExternalStore } from 'react';

export type Theme = 'auto' | 'light' | 'dark';
export type Clock = 'local' | 'utc';

interface Settings {
  theme: Theme;
  clock: Clock;
}

const KEY = 'carillon.settings';
const LIGHT_OR_DARK = ['auto', 'light', 'dark'];

function load(): Settings {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>;
    return {
      theme: LIGHT_OR_DARK.includes(kept.theme ?? '') ? (kept.theme as Theme) : 'auto',
      clock: kept.clock === 'utc' ? 'utc' : 'local',
    };
  } catch {
    return { theme: 'auto', clock: 'local' };
  }
}

let current: Settings = load();
const listeners = new Set<() => void>();

export function applyTheme(): void {
  const root = document.documentElement;
  if (current.theme === 'auto') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', current.theme);
}

export function changeSettings(change: Partial<Settings>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // no storage: the choice lasts as long as the page
  }
  applyTheme();
  for (const listener of listeners) listener();
}

export function useSettings(): Settings {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
