import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { projectName } from '../../api/carillon';
import { useCreateToken, useProjects } from '../../api/queries';
import { ErrorPanel } from '../../components/answer';
import { Button, Field } from '../../components/basics';
import { Code } from '../../components/code';
import { Dialog } from '../../components/dialog';

const ROLES = ['viewer', 'operator', 'developer', 'admin'] as const;
const LIVES = ['30d', '90d', '365d', ''] as const; // the last: without an end

/** Asks for a token, then shows it: closing the dialog is the last anyone sees of it. */
export function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const create = useCreateToken();
  const projects = (useProjects().data?.items ?? []).map(projectName).filter(Boolean);
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('operator');
  const [project, setProject] = useState('');
  const [life, setLife] = useState<string>('90d');
  const made = create.data;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate({ name: name.trim(), role, ...(project && { project }), ...(life && { expires_in: life }) });
  };

  if (made)
    return (
      <Dialog
        title={t('tokens.made', { name: made.name })}
        onClose={onClose}
        footer={
          <Button look="main" onClick={onClose}>
            {t('action.close')}
          </Button>
        }
      >
        <p role="status">{t('tokens.once')}</p>
        <Code text={made.token} label={t('tokens.token')} />
      </Dialog>
    );
  return (
    <Dialog
      title={t('tokens.new')}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button look="main" type="submit" form="new-token" busy={create.isPending}>
            {t('tokens.create')}
          </Button>
        </>
      }
    >
      <form id="new-token" className="form" onSubmit={submit}>
        <Field label={t('tokens.name')} hint={t('tokens.namehint')}>
          {({ id, describedBy }) => <input id={id} autoFocus required autoComplete="off" spellCheck={false} maxLength={128} value={name} aria-describedby={describedBy} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label={t('tokens.role')} hint={t(`rolemay.${role}`)}>
          {({ id, describedBy }) => (
            <select id={id} value={role} aria-describedby={describedBy} onChange={(event) => setRole(event.target.value)}>
              {ROLES.map((each) => (
                <option key={each} value={each}>
                  {t(`role.${each}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('tokens.project')}>
          {({ id }) => (
            <select id={id} value={project} onChange={(event) => setProject(event.target.value)}>
              <option value="">{t('tokens.allprojects')}</option>
              {projects.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('tokens.expires')}>
          {({ id }) => (
            <select id={id} value={life} onChange={(event) => setLife(event.target.value)}>
              {LIVES.map((each) => (
                <option key={each} value={each}>
                  {each === '' ? t('tokens.never') : t('tokens.days', { n: Number.parseInt(each, 10) })}
                </option>
              ))}
            </select>
          )}
        </Field>
      </form>
      {create.isError && <ErrorPanel error={create.error} />}
    </Dialog>
  );
}
