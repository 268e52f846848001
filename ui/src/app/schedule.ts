// A trigger's schedule in plain words. What cannot be said with certainty is not said: the expression itself is always
// shown beside the words.
import cronstrue from 'cronstrue';

const LOCALES: Record<string, string> = { en: 'en', zh: 'zh_CN', ja: 'ja' };

/** Words for other languages are loaded when they are asked for. */
export async function loadCronLanguage(language: string): Promise<void> {
  if (language === 'zh') await import('cronstrue/locales/zh_CN');
  else if (language === 'ja') await import('cronstrue/locales/ja');
}

/** Descriptions that say something else than we mean, by language: n days before the month's end. */
const MISREAD: Record<string, RegExp> = { zh: /L-\d/i };

function describeOne(expression: string, language: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const named = expression.trim().startsWith('@');
  if (!named && (fields.length < 5 || fields.length > 7)) return null;
  if (!named && fields.some((field) => /(^|,)H(\(|\/|,|$)/.test(field))) return null; // our hash spread
  if (MISREAD[language]?.test(expression)) return null;
  try {
    const text = cronstrue.toString(expression.trim(), {
      locale: LOCALES[language] ?? 'en',
      use24HourTimeFormat: true,
      throwExceptionOnParseError: true,
      // Five fields are Unix (0 and 7 = Sunday), six and seven are Quartz (1 = Sunday).
      dayOfWeekStartIndexZero: named || fields.length === 5,
    });
    if (/NaN|undefined|aN/.test(text)) return null;
    // The Japanese catalogue puts the verb before the time; turned round it is a sentence.
    return language === 'ja' ? text.replace(/^次において実施(\d\d:\d\d(?::\d\d)?)/, '$1 に実行') : text;
  } catch {
    return null;
  }
}

/** All expressions of a `;` list, or null as soon as one of them cannot be told. */
export function describeCron(cron: string, language: string): string | null {
  const parts = cron.split(';').filter((part) => part.trim() !== '');
  const texts = parts.map((part) => describeOne(part, language));
  if (texts.length === 0 || texts.some((text) => text === null)) return null;
  return texts.join('; ');
}

/** A numeric weekday of a Quartz expression means another day than in Unix; worth a word. */
export function hasNumericQuartzWeekday(cron: string): boolean {
  return cron.split(';').some((part) => {
    const fields = part.trim().split(/\s+/);
    return (fields.length === 6 || fields.length === 7) && /\d/.test((fields[5] ?? '').replace(/#\d|\/\d+/g, ''));
  });
}
