import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { worthRetry } from '../api/queries';
import { NoticesProvider } from '../components/notices';
import { JobPage } from '../features/jobs/JobPage';
import { JobsPage } from '../features/jobs/JobsPage';
import { EditJobPage, NewJobPage } from '../features/jobs/JobEditor';
import { LoginPage } from '../features/login/LoginPage';
import { RunPage } from '../features/runs/RunPage';
import { RunsPage } from '../features/runs/RunsPage';
import { SchedulerPage } from '../features/schedulers/SchedulerPage';
import { SchedulersPage } from '../features/schedulers/SchedulersPage';
import { NotFound } from '../features/shell/NotFound';
import { Shell } from '../features/shell/Shell';
import { TokensPage } from '../features/tokens/TokensPage';
import { Boundary } from './Boundary';
import { aroundNavigation } from './leaving';
import { lastProject, named, paths } from './paths';
import { session } from './session';

const client = new QueryClient({
  defaultOptions: { queries: { retry: worthRetry, retryDelay: 800, staleTime: 500 } },
});

// Answers of one token are nothing for the next.
session.subscribe(() => client.clear());

export function App() {
  const token = useSyncExternalStore(session.subscribe, () => session.token());
  return (
    <Boundary>
      <QueryClientProvider client={client}>
        <NoticesProvider>
          <Router aroundNav={aroundNavigation}>{token === null ? <LoginPage /> : <Pages />}</Router>
        </NoticesProvider>
      </QueryClientProvider>
    </Boundary>
  );
}

function Pages() {
  return (
    <Switch>
      <Route path="/">
        <Redirect to={paths.jobs(lastProject())} replace />
      </Route>
      <Route path="/projects/:project/*?">
        {({ project }) => (
          <Shell project={named(project)}>
            <ProjectPages project={named(project)} />
          </Shell>
        )}
      </Route>
      <Route path="/schedulers/:node?">
        {({ node }) => (
          <Shell project={lastProject()}>{node === undefined ? <SchedulersPage /> : <SchedulerPage key={node} node={named(node)} />}</Shell>
        )}
      </Route>
      <Route path="/tokens">
        <Shell project={lastProject()}>
          <TokensPage />
        </Shell>
      </Route>
      <Route>
        <Shell project={lastProject()}>
          <NotFound />
        </Shell>
      </Route>
    </Switch>
  );
}

function ProjectPages({ project }: { project: string }) {
  return (
    <Switch>
      <Route path="/projects/:project">
        <Redirect to={paths.jobs(project)} replace />
      </Route>
      <Route path="/projects/:project/jobs">
        <JobsPage key={project} project={project} />
      </Route>
      <Route path="/projects/:project/new-job">
        <NewJobPage project={project} />
      </Route>
      <Route path="/projects/:project/jobs/:job/edit">
        {({ job }) => <EditJobPage key={job} project={project} job={named(job)} />}
      </Route>
      <Route path="/projects/:project/jobs/:job/:tab?">
        {({ job, tab }) => <JobPage key={job} project={project} job={named(job)} tab={tab ?? 'overview'} />}
      </Route>
      <Route path="/projects/:project/runs">
        <RunsPage key={project} project={project} />
      </Route>
      <Route path="/projects/:project/runs/:id">
        {({ id }) => <RunPage key={id} project={project} id={named(id)} />}
      </Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}
