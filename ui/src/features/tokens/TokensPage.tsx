// Who may call the API: tokens by name, their rights and last use. A token itself is shown once, when it is made.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { useRevokeTokens, useTokens } from '../../api/queries';
import type { Token } from '../../api/types';
import { instantOf } from '../../app/time';
import { usePage } from '../../app/usePage';
import { Answer, Empty, useErrorText } from '../../components/answer';
import { Button, PageHead } from '../../components/basics';
import { Confirm } from '../../components/dialog';
import { useNotices } from '../../components/notices';
import { Pager } from '../../components/pager';
import { State } from '../../components/state';
import { Table, type Column } from '../../components/table';
import { Ago, Time, useNow } from '../../components/time';
import { useWord } from '../../components/words';
import { useBatchReport } from '../jobs/useJobActions';
import { NewTokenDialog } from './NewTokenDialog';

const LIMIT = 50;

export function TokensPage() {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const skip = Math.max(0, Number(params.get('skip') ?? 0) || 0);
  const query = useTokens({ skip, limit: LIMIT });
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  usePage(t('tokens.title'));
  return (
    <>
      <PageHead
        title={t('tokens.title')}
        actions={
          <Button look="main" icon="plus" onClick={() => setMaking(true)}>
            {t('tokens.new')}
          </Button>
        }
      >
        <p className="lead">{t('tokens.text')}</p>
      </PageHead>
      <Answer query={query} rows={4}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title={t('tokens.empty')}>
              <p>{t('tokens.emptytext')}</p>
            </Empty>
          ) : (
            <>
              <TokenTable tokens={page.items} onRevoke={setRevoking} />
              <Pager skip={skip} limit={LIMIT} total={page.total} shown={page.items.length} onSkip={(value) => setParams(value ? { skip: String(value) } : {})} />
            </>
          )
        }
      </Answer>
      {making && <NewTokenDialog onClose={() => setMaking(false)} />}
      {revoking && <Revoke token={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function TokenTable({ tokens, onRevoke }: { tokens: Token[]; onRevoke: (token: Token) => void }) {
  const { t } = useTranslation();
  const word = useWord();
  const now = useNow();
  const stateOf = (token: Token): string => {
    if (token.revoked_at) return 'revoked';
    const end = instantOf(token.expires_at);
    return end !== null && end <= now ? 'expired' : 'valid';
  };
  const columns: Column<Token>[] = [
    { key: 'name', head: t('tokens.name'), main: true, cell: (token) => <span className="row-name">{token.name}</span> },
    { key: 'state', head: t('tokens.state'), cell: (token) => <State state={stateOf(token)} quiet /> },
    { key: 'role', head: t('tokens.role'), cell: (token) => word('role', token.role) },
    { key: 'project', head: t('tokens.project'), cell: (token) => token.project ?? <span className="muted">{t('tokens.allprojects')}</span> },
    { key: 'created', head: t('tokens.created'), cell: (token) => <Time value={token.created_at} /> },
    { key: 'expires', head: t('tokens.expires'), cell: (token) => (token.expires_at ? <Time value={token.expires_at} /> : <span className="muted">{t('tokens.never')}</span>) },
    { key: 'used', head: t('tokens.used'), cell: (token) => (token.last_used_at ? <Ago value={token.last_used_at} /> : <span className="muted">{t('tokens.notused')}</span>) },
    {
      key: 'actions',
      head: t('jobs.actions'),
      headHidden: true,
      className: 'col-actions',
      cell: (token) =>
        !token.revoked_at && (
          <div className="row-actions">
            <Button small aria-label={t('tokens.revokeone', { name: token.name })} onClick={() => onRevoke(token)}>
              {t('tokens.revoke')}
            </Button>
          </div>
        ),
    },
  ];
  return <Table caption={t('tokens.title')} columns={columns} rows={tokens} rowKey={(token) => token.id} rowClass={(token) => (stateOf(token) === 'valid' ? undefined : 'dim')} />;
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const { t } = useTranslation();
  const revoke = useRevokeTokens();
  const report = useBatchReport();
  const { notify } = useNotices();
  const errorText = useErrorText();
  const confirm = (): void =>
    revoke.mutate([token.id], {
      onSuccess: (batch) => report(batch, () => t('tokens.revoked', { name: token.name })),
      onError: (error) => notify('bad', errorText(error)),
      onSettled: onClose,
    });
  return <Confirm title={t('tokens.revoketitle', { name: token.name })} text={t('tokens.revoketext')} action={t('tokens.revoke')} busy={revoke.isPending} onConfirm={confirm} onClose={onClose} />;
}
