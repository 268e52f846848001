import { useEffect } from 'react';

/** The window's title, and the focus on the heading of a page that was just opened, as a full page load would do. */
export function usePage(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Carillon` : 'Carillon';
  }, [title]);
}

let opened = '';

export function useHeadingFocus(key: string): void {
  useEffect(() => {
    const before = opened;
    opened = key;
    if (before === '' || before === key) return; // the first page begins where the browser begins: at the skip link
    if (document.activeElement && document.activeElement !== document.body) return; // someone is at work there
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  }, [key]);
}
