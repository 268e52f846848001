import { useTranslation } from 'react-i18next';
import { usePage } from '../../app/usePage';
import { PageHead } from '../../components/basics';
import { RunsList } from './RunsList';

export function RunsPage({ project }: { project: string }) {
  const { t } = useTranslation();
  usePage(t('runs.title'));
  return (
    <>
      <PageHead title={t('runs.title')} />
      <RunsList project={project} />
    </>
  );
}
