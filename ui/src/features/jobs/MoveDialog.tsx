// Which scheduler shall hold a job: a node by name, or whoever has room.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { errorFromItem } from '../../api/error';
import { useMoveJobs, useSchedulers } from '../../api/queries';
import { ErrorPanel } from '../../components/answer';
import { Button, Field } from '../../components/basics';
import { Dialog } from '../../components/dialog';
import { useNotices } from '../../components/notices';

export function MoveDialog({ project, job, owner, onClose }: { project: string; job: string; owner?: string | null; onClose: () => void }) {
  const { t } = useTranslation();
  const nodes = (useSchedulers().data?.items ?? []).filter((node) => node.state !== 'down');
  const move = useMoveJobs(project);
  const { notify } = useNotices();
  const [node, setNode] = useState('');
  const [error, setError] = useState<unknown>(null);

  const send = (): void => {
    setError(null);
    move.mutate(
      { names: [job], node: node || null },
      {
        onSuccess: (batch) => {
          const item = batch.items[0];
          if (item && !item.ok) return setError(errorFromItem(item));
          notify('good', node ? t('move.done', { name: job, node }) : t('move.freed', { name: job }));
          onClose();
        },
        onError: setError,
      },
    );
  };

  return (
    <Dialog
      title={t('move.title', { name: job })}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button look="main" icon="arrow" busy={move.isPending} onClick={send}>
            {t('move.move')}
          </Button>
        </>
      }
    >
      <p>{t('move.text')}</p>
      <Field label={t('move.to')}>
        {({ id }) => (
          <select id={id} value={node} autoFocus onChange={(event) => setNode(event.target.value)}>
            <option value="">{t('move.anywhere')}</option>
            {nodes.map((each) => (
              <option key={each.node} value={each.node}>
                {each.node === owner ? t('move.holdsnow', { node: each.node }) : each.state === 'working' ? each.node : `${each.node} (${t(`state.${each.state}`)})`}
              </option>
            ))}
          </select>
        )}
      </Field>
      {error !== null && <ErrorPanel error={error} />}
    </Dialog>
  );
}
