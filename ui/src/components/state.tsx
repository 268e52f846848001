import { useTranslation } from 'react-i18next';
import { toneOf, toneOfClass, type Tone } from '../api/states';
import { Icon } from './icons';
import { useWord } from './words';

/** A state by shape, word and colour. Words that this build does not know are shown as they are. */
export function State({ state, quiet = false }: { state: string; quiet?: boolean }) {
  const word = useWord();
  return <Badge tone={toneOf(state)} icon={state === 'paused' ? 'paused' : undefined} text={word('state', state)} quiet={quiet} />;
}

export function CallClass({ value }: { value: string | null | undefined }) {
  const { t } = useTranslation();
  const word = useWord();
  return <Badge tone={toneOfClass(value)} text={value ? word('class', value) : t('class.none')} />;
}

export function Badge({ tone, text, icon, quiet = false }: { tone: Tone; text: string; icon?: string; quiet?: boolean }) {
  return (
    <span className={`badge tone-${tone}${quiet ? ' quiet' : ''}`}>
      <Icon name={icon ?? tone} size={14} />
      <span>{text}</span>
    </span>
  );
}
