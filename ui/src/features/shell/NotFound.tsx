import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { usePage } from '../../app/usePage';
import { Empty } from '../../components/answer';

export function NotFound() {
  const { t } = useTranslation();
  usePage(t('notfound.title'));
  return (
    <>
      <h1 className="sr-only" tabIndex={-1}>
        {t('notfound.title')}
      </h1>
      <Empty title={t('notfound.title')} actions={<Link href="/" className="button look-main">{t('notfound.home')}</Link>}>
        <p>{t('notfound.text')}</p>
      </Empty>
    </>
  );
}
