import { useEffect } from 'react';

/** The window's title, and the focus on the heading of a page that was just opened, as a full page load would do. */
export function usePage(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Carillon` : 'Carillon';
  }, [title]);
}

export function useHeadingFocus(key: string): void {
  useEffect(() => {
    if (document.activeElement && document.activeElement !== document.body) return; // someone is at work there
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  }, [key]);
}
