import { useTranslation } from 'react-i18next';

/**
 * A word of the server's (a state, a reason, a policy) in the reader's language; one that the catalogue does not know,
 * or that is a whole sentence, is shown as it came.
 */
export function useWord(): (group: string, value: string) => string {
  const { t, i18n } = useTranslation();
  return (group, value) => {
    if (!/^\w+( \w+){0,3}$/.test(value)) return value;
    const key = `${group}.${value.replace(/ /g, '_')}`;
    return i18n.exists(key) ? t(key) : value;
  };
}
