// The three faces of everything that is asked for: on its way, refused, here.
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, remedyKey } from '../api/error';
import { Button } from './basics';
import { Icon, Mark } from './icons';

export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  return (error) => {
    if (error instanceof ApiError) return error.message || t(`problem.${remedyKey(error)}`);
    return error instanceof Error ? error.message : String(error);
  };
}

export function ErrorPanel({ error, onRetry, compact = false }: { error: unknown; onRetry?: () => void; compact?: boolean }) {
  const { t } = useTranslation();
  const text = useErrorText();
  const api = error instanceof ApiError ? error : null;
  return (
    <div className={`error-panel${compact ? ' compact' : ''}`} role="alert">
      <Icon name="bad" size={compact ? 16 : 22} />
      <div>
        <p className="error-title">{text(error)}</p>
        <p>{t(`remedy.${remedyKey(error)}`)}</p>
        {api && (
          <p className="muted small">
            <code>{api.code}</code>
            {api.status > 0 && <> · HTTP {api.status}</>}
            {api.traceId && (
              <>
                {' '}
                · {t('problem.trace')} <code>{api.traceId}</code>
              </>
            )}
          </p>
        )}
        {api && api.details.length > 0 && (
          <ul className="error-details">
            {api.details.map((detail, index) => (
              <li key={index}>
                {detail.path && <code>{detail.path}</code>} {detail.message}
              </li>
            ))}
          </ul>
        )}
        {onRetry && (
          <Button small onClick={onRetry}>
            {t('action.retry')}
          </Button>
        )}
      </div>
    </div>
  );
}

export function Loading({ rows = 4 }: { rows?: number }) {
  const { t } = useTranslation();
  return (
    <div className="loading" role="status">
      <span className="sr-only">{t('list.loading')}</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  );
}

export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="empty">
      <Mark size={40} />
      <h2>{title}</h2>
      {children}
      {actions && <div className="empty-actions">{actions}</div>}
    </div>
  );
}

/**
 * Shows what a query has. An error beside older data is told above it: what was read stays readable, and the person
 * knows that it is old.
 */
export function Answer<T>({ query, rows, children }: { query: UseQueryResult<T>; rows?: number; children: (data: T) => ReactNode }) {
  const retry = (): void => void query.refetch();
  if (query.data === undefined) {
    return query.isError ? <ErrorPanel error={query.error} onRetry={retry} /> : <Loading rows={rows} />;
  }
  return (
    <>
      {query.isError && <ErrorPanel compact error={query.error} onRetry={retry} />}
      {children(query.data)}
    </>
  );
}
