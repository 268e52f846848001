// A job as JSON text: what is written is what is sent. Faults stand beside it, each leads to its place.
import { useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { parseAnswer } from '../../api/client';
import { ApiError } from '../../api/error';
import { projectName } from '../../api/carillon';
import { useCronNext, useJob, useProjects, usePutJob } from '../../api/queries';
import type { JobDocument, TriggerSpec } from '../../api/types';
import { JsonSyntaxError, formatJson, lineOf, locatePath, parseJson } from '../../app/jsontext';
import { guardLeaving } from '../../app/leaving';
import { paths } from '../../app/paths';
import { usePage } from '../../app/usePage';
import { Answer, ErrorPanel } from '../../components/answer';
import { Button, Card, Field, PageHead } from '../../components/basics';
import { useNotices } from '../../components/notices';
import { Time } from '../../components/time';
import { JobGraph } from '../graph/JobGraph';
import { stepsOfGraph } from '../graph/model';
import { newJobText } from './samples';
import { ScheduleLine, scheduleOfSpec } from './schedule';

export function NewJobPage({ project }: { project: string }) {
  const { t } = useTranslation();
  return <Editor project={project} title={t('editor.new')} initial={newJobText(project)} back={paths.jobs(project)} />;
}

export function EditJobPage({ project, job }: { project: string; job: string }) {
  const { t } = useTranslation();
  const query = useJob(project, job);
  // The text that is being edited must not change under the hand: the first answer is the one.
  const first = useRef<{ text: string; version?: string } | null>(null);
  const [generation, setGeneration] = useState(0);
  const reload = async (): Promise<void> => {
    await query.refetch();
    first.current = null;
    setGeneration((old) => old + 1);
  };
  return (
    <Answer query={query} rows={8}>
      {(answer) => {
        const version = answer.document.metadata.version ?? answer.document.status?.version;
        first.current ??= { text: `${formatJson(answer.text, ['status'])}\n`, version: version === undefined ? undefined : String(version) };
        return (
          <Editor
            key={generation}
            project={project}
            job={job}
            title={t('editor.edit', { name: job })}
            initial={first.current.text}
            version={first.current.version}
            back={paths.job(project, job)}
            onReload={() => void reload()}
          />
        );
      }}
    </Answer>
  );
}

interface Parsed {
  document: JobDocument | null;
  fault: JsonSyntaxError | null;
}

function parseText(text: string): Parsed {
  try {
    parseJson(text);
    return { document: parseAnswer(text) as JobDocument, fault: null };
  } catch (reason) {
    return { document: null, fault: reason instanceof JsonSyntaxError ? reason : new JsonSyntaxError(0, 1, 1) };
  }
}

function Editor({ project, job, title, initial, version, back, onReload }: { project: string; job?: string; title: string; initial: string; version?: string; back: string; onReload?: () => void }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const [text, setText] = useState(initial);
  const area = useRef<HTMLTextAreaElement>(null);
  const put = usePutJob(project);
  const { notify } = useNotices();
  const parsed = useMemo(() => parseText(text), [text]);
  const changed = text !== initial;
  const saved = useRef(false);
  usePage(title);

  useEffect(() => {
    if (!changed) return;
    const warn = (event: BeforeUnloadEvent): void => {
      if (!saved.current) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    const release = guardLeaving(() => saved.current || window.confirm(t('editor.leave')));
    return () => {
      window.removeEventListener('beforeunload', warn);
      release();
    };
  }, [changed, t]);

  const name = job ?? parsed.document?.metadata?.name ?? '';
  const save = (): void => {
    if (parsed.fault) {
      place(parsed.fault.offset, parsed.fault.offset + 1);
      return;
    }
    put.mutate(
      { name, text, version },
      {
        onSuccess: () => {
          saved.current = true;
          notify('good', t('editor.saved', { name }));
          go(paths.job(project, name));
        },
      },
    );
  };
  const place = (start: number, end: number): void => {
    const element = area.current;
    if (!element) return;
    element.focus();
    element.setSelectionRange(start, end);
    // The caret's line comes into view: lines are of one height.
    const height = element.scrollHeight / Math.max(1, text.split('\n').length);
    element.scrollTop = Math.max(0, (lineOf(text, start).line - 5) * height);
  };
  const details = put.error instanceof ApiError ? put.error.details : [];

  return (
    <>
      <PageHead
        kicker={<Link href={back}>{t('editor.back')}</Link>}
        title={title}
        actions={
          <>
            <Link href={back} className="button">
              {t('action.cancel')}
            </Link>
            <Button look="main" busy={put.isPending} disabled={name === ''} onClick={save}>
              {t('editor.save')}
            </Button>
          </>
        }
      />
      <div className="editor">
        <div className="editor-text">
          <Field
            label={t('editor.json')}
            error={parsed.fault ? t('json.fault', { line: parsed.fault.line, column: parsed.fault.column }) : undefined}
          >
            {({ id, describedBy }) => (
              <textarea
                id={id}
                ref={area}
                className="mono"
                rows={Math.min(40, Math.max(20, text.split('\n').length + 1))}
                spellCheck={false}
                wrap="off"
                value={text}
                aria-describedby={describedBy}
                aria-invalid={parsed.fault !== null || details.length > 0}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
          <Button
            small
            disabled={parsed.fault !== null}
            onClick={() => {
              setText(`${formatJson(text)}\n`);
            }}
          >
            {t('editor.format')}
          </Button>
        </div>
        <div className="editor-side">
          {put.error !== null && details.length === 0 && <ErrorPanel error={put.error} />}
          {put.error instanceof ApiError && put.error.status === 412 && onReload && <Button onClick={onReload}>{t('editor.reload')}</Button>}
          {details.length > 0 && put.error instanceof ApiError && (
            <section className="error-panel" role="alert">
              <div>
                <p className="error-title">{put.error.message}</p>
                <ul className="faults">
                  {details.map((detail, index) => {
                    const where = detail.path ? locatePath(text, detail.path) : null;
                    return (
                      <li key={index}>
                        {where ? (
                          <button type="button" className="link mono" onClick={() => place(where.start, where.end)}>
                            {detail.path} ({t('editor.line', { line: lineOf(text, where.start).line })})
                          </button>
                        ) : (
                          <code>{detail.path}</code>
                        )}
                        <span>{detail.message}</span>
                      </li>
                    );
                  })}
                </ul>
              </div>
            </section>
          )}
          <Preview document={parsed.document} project={project} />
        </div>
      </div>
    </>
  );
}

function Preview({ document, project }: { document: JobDocument | null; project: string }) {
  const { t } = useTranslation();
  const projects = useProjects();
  const zone = projects.data?.items.find((item) => projectName(item) === project)?.spec?.timezone ?? 'UTC';
  if (!document || typeof document.spec !== 'object' || document.spec === null) return null;
  const triggers = Array.isArray(document.spec.triggers) ? document.spec.triggers : [];
  const steps = stepsOfGraph(document.spec.graph);
  return (
    <>
      <Card title={t('editor.preview')}>
        <JobGraph steps={steps} />
      </Card>
      <Card title={t('triggers.title')}>
        {triggers.length === 0 && <p className="muted">{t('triggers.none')}</p>}
        <ul className="triggers">
          {triggers.map((trigger, index) => (
            <li key={index} className="trigger">
              <TriggerPreview spec={trigger} projectZone={zone} />
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}

/** No trigger is saved without its zone and next instants having been seen. */
function TriggerPreview({ spec, projectZone }: { spec: TriggerSpec; projectZone: string }) {
  const { t } = useTranslation();
  const { kind, schedule } = scheduleOfSpec(spec);
  const zone = spec.timezone ?? projectZone;
  const next = useCronNext(kind === 'cron' ? schedule : '', zone, 3);
  return (
    <>
      <div className="trigger-head">
        <h3>{spec.name ?? 'default'}</h3>
        <span className="muted">{spec.timezone ?? t('editor.projectzone', { zone })}</span>
      </div>
      {schedule !== '' && (
        <p className="trigger-words">
          <ScheduleLine trigger={{ name: '', kind, schedule, state: '' }} />
        </p>
      )}
      {next.isError && <ErrorPanel compact error={next.error} />}
      {next.data && (
        <ol className="next" aria-label={t('triggers.next')}>
          {next.data.next.map((instant) => (
            <li key={instant}>
              <Time value={instant} zone={zone} /> <span className="muted">{zone}</span>
            </li>
          ))}
          {next.data.next.length === 0 && <li>{t('triggers.nonext')}</li>}
        </ol>
      )}
    </>
  );
}
