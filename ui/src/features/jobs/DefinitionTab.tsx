import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { formatJson } from '../../app/jsontext';
import { paths } from '../../app/paths';
import { Card } from '../../components/basics';
import { Code } from '../../components/code';

export function DefinitionTab({ project, job, text }: { project: string; job: string; text: string }) {
  const { t } = useTranslation();
  return (
    <Card title={t('definition.title')} actions={<Link href={paths.editJob(project, job)}>{t('action.edit')}</Link>}>
      <Code text={formatJson(text, ['status'])} label={t('definition.title')} tall />
      <p className="hint">
        {t('definition.export')} <code className="break">carillon export {project}/{job} &gt; {job}.json</code>
      </p>
    </Card>
  );
}
