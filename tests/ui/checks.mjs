// Checks that run inside a page: what a reader with a screen reader, a keyboard or weak eyes would stumble over.

/** All faults of the page as text; empty when there are none. */
export function auditPage(page) {
  return page.evaluate(() => {
    const faults = [];
    const describe = (element) => `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') ?? ''}"> ${(element.textContent ?? '').trim().slice(0, 40)}`;
    const visible = (element) => {
      const style = getComputedStyle(element);
      const box = element.getBoundingClientRect();
      return style.visibility !== 'hidden' && style.display !== 'none' && box.width > 0 && box.height > 0;
    };
    const nameOf = (element) => {
      const by = element.getAttribute('aria-labelledby');
      if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? '').join(' ').trim();
      const label = element.getAttribute('aria-label');
      if (label) return label.trim();
      if (element.labels?.length) return [...element.labels].map((each) => each.textContent).join(' ').trim();
      return (element.textContent ?? '').trim();
    };

    // names and labels
    for (const element of document.querySelectorAll('a[href], button, input, select, textarea, summary, [role="button"], [role="region"], dialog')) {
      if (element.type === 'hidden' || nameOf(element) !== '') continue;
      faults.push(`no name: ${describe(element)}`);
    }
    for (const element of document.querySelectorAll('img:not([alt]), svg:not([aria-hidden="true"]):not([role="img"])')) {
      if (!element.closest('[aria-hidden="true"]') && !element.closest('.react-flow')) faults.push(`picture without text: ${describe(element)}`);
    }
    // references and ids
    const ids = new Set();
    for (const element of document.querySelectorAll('[id]')) {
      if (ids.has(element.id)) faults.push(`id twice: ${element.id}`);
      ids.add(element.id);
    }
    for (const attribute of ['aria-labelledby', 'aria-describedby', 'for']) {
      for (const element of document.querySelectorAll(`[${attribute}]`)) {
        for (const id of element.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) faults.push(`${attribute} names nothing (${id}): ${describe(element)}`);
      }
    }
    // structure
    if (document.querySelectorAll('h1').length !== 1) faults.push(`${document.querySelectorAll('h1').length} headings of the first level`);
    if (document.querySelectorAll('main').length !== 1) faults.push('not exactly one <main>');
    if (!document.documentElement.lang) faults.push('no language');
    if (document.title.trim() === '') faults.push('no title');
    let level = 0;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
      const own = Number(heading.tagName[1]);
      if (own > level + 1) faults.push(`heading jumps from ${level} to ${own}: ${describe(heading)}`);
      level = own;
    }
    if (document.querySelector('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')) faults.push('a tabindex that changes the order');
    for (const element of document.querySelectorAll('[aria-hidden="true"] button, [aria-hidden="true"] a[href], button button, a button, button a')) faults.push(`control inside what is no place for it: ${describe(element)}`);
    for (const list of document.querySelectorAll('ul, ol')) {
      for (const child of list.children) if (child.tagName !== 'LI') faults.push(`not a list item: ${describe(child)}`);
    }

    // contrast of what is seen
    const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = ([r, g, b]) => {
      const part = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const groundOf = (element) => {
      for (let each = element; each; each = each.parentElement) {
        const [r, g, b, a = 1] = rgb(getComputedStyle(each).backgroundColor);
        if (a === 1) return [r, g, b];
      }
      return [255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Set();
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!element || seen.has(element) || walker.currentNode.textContent.trim() === '' || !visible(element)) continue;
      if (element.closest('[disabled], .sr-only, script, style, option')) continue;
      seen.add(element);
      const style = getComputedStyle(element);
      const [front, back] = [luminance(rgb(style.color)), luminance(groundOf(element))].sort((x, y) => y - x);
      const ratio = (front + 0.05) / (back + 0.05);
      const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${describe(element)}`);
    }
    return faults;
  });
}

/** What makes the page wider than the window; empty when nothing does. */
export function overflow(page) {
  return page.evaluate(() => {
    if (document.scrollingElement.scrollWidth <= window.innerWidth) return [];
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
      .map((element) => `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') ?? ''}">`);
  });
}
