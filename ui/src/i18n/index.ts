// Languages. English comes with the first load; another one is fetched when it is chosen.
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { setApiLanguage } from '../api/client';
import { loadCronLanguage } from '../app/schedule';
import en from './en.json';

/** To add one: a catalogue beside en.json, a line here, a line in `loaders` (README.md). */
export const LANGUAGES = { en: 'English', zh: '中文', ja: '日本語' } as const;
export type Language = keyof typeof LANGUAGES;

const API_TAGS: Record<Language, string> = { en: 'en', zh: 'zh-CN', ja: 'ja' };

const loaders: Record<Exclude<Language, 'en'>, () => Promise<{ default: object }>> = {
  zh: () => import('./zh.json'),
  ja: () => import('./ja.json'),
};

const KEY = 'carillon.language';

const known = (tag: string | null | undefined): Language | null => {
  const base = tag?.toLowerCase().split('-')[0] ?? '';
  return base in LANGUAGES ? (base as Language) : null;
};

function preferred(): Language {
  try {
    const kept = known(localStorage.getItem(KEY));
    if (kept) return kept;
  } catch {
    // no storage: the browser's own languages decide
  }
  for (const tag of navigator.languages) {
    const found = known(tag);
    if (found) return found;
  }
  return 'en';
}

async function show(language: Language): Promise<void> {
  if (language !== 'en' && !i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', (await loaders[language]()).default);
  }
  await loadCronLanguage(language);
  setApiLanguage(API_TAGS[language]);
  await i18next.changeLanguage(language);
  document.documentElement.lang = API_TAGS[language];
}

export async function startI18n(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false }, // React escapes
    returnNull: false,
  });
  try {
    await show(preferred());
  } catch {
    await show('en'); // the catalogue did not arrive: better English than nothing
  }
}

export async function chooseLanguage(language: Language): Promise<void> {
  await show(language);
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // lasts as long as the page
  }
}
