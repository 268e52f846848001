import { useTranslation } from 'react-i18next';
import { Button } from './basics';

export function Pager({ skip, limit, total, shown, onSkip }: { skip: number; limit: number; total: number; shown: number; onSkip: (skip: number) => void }) {
  const { t, i18n } = useTranslation();
  const number = new Intl.NumberFormat(i18n.language);
  return (
    <nav className="pager" aria-label={t('pager.label')}>
      <span role="status">
        {t('pager.range', {
          from: number.format(shown === 0 ? 0 : skip + 1),
          to: number.format(skip + shown),
          total: number.format(total),
        })}
      </span>
      {(skip > 0 || skip + shown < total) && (
        <>
          <Button small disabled={skip === 0} onClick={() => onSkip(Math.max(0, skip - limit))}>
            {t('pager.previous')}
          </Button>
          <Button small disabled={skip + shown >= total} onClick={() => onSkip(skip + limit)}>
            {t('pager.next')}
          </Button>
        </>
      )}
    </nav>
  );
}
