// What the pages watch. A visible page asks again by itself; a hidden one is quiet (TanStack Query's default).
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import * as api from './carillon';
import { unreadiness } from './client';
import { ApiError } from './error';
import { isOpen } from './states';
import type { RunFilter } from './types';

const POLL_LIVE = 1_000; // an open run
const POLL_STATUS = 1_500; // one job
const POLL_LIST = 2_500; // lists
const POLL_SLOW = 15_000; // what people rarely change

export function useProjects() {
  return useQuery({
    queryKey: ['projects'],
    queryFn: ({ signal }) => api.listProjects({ signal }),
    refetchInterval: POLL_SLOW,
  });
}

export function useUnreadiness() {
  return useQuery({ queryKey: ['ready'], queryFn: ({ signal }) => unreadiness(signal), refetchInterval: POLL_LIST * 2 });
}

export function useWhoAmI() {
  return useQuery({ queryKey: ['whoami'], queryFn: ({ signal }) => api.whoAmI(signal), staleTime: 60_000, retry: false });
}

const ROLES = ['viewer', 'operator', 'developer', 'admin'];

/** Does the token in use carry this role? Unknown counts as yes: the server decides, and says why not. */
export function useMay(role: 'operator' | 'developer' | 'admin'): boolean {
  const own = useWhoAmI().data?.role;
  return own === undefined || ROLES.indexOf(own) >= ROLES.indexOf(role);
}

export function useJobs(project: string, filter: { q?: string; state?: string; skip: number; limit: number }) {
  return useQuery({
    queryKey: ['jobs', project, filter],
    queryFn: ({ signal }) => api.listJobs(project, filter, signal),
    refetchInterval: POLL_LIST,
    placeholderData: keepPreviousData,
  });
}

export function useJob(project: string, job: string) {
  return useQuery({
    queryKey: ['job', project, job],
    queryFn: ({ signal }) => api.getJob(project, job, signal),
    refetchInterval: POLL_SLOW,
  });
}

export function useJobStatus(project: string, job: string) {
  return useQuery({
    queryKey: ['status', project, job],
    queryFn: ({ signal }) => api.getJobStatus(project, job, signal),
    refetchInterval: POLL_STATUS,
  });
}

/** `live`: someone is watching runs come and go. */
export function useRuns(project: string, filter: RunFilter, live = false) {
  return useQuery({
    queryKey: ['runs', project, filter],
    queryFn: ({ signal }) => api.listRuns(project, filter, signal),
    refetchInterval: live ? POLL_LIVE : POLL_LIST,
    placeholderData: keepPreviousData,
  });
}

export function useRun(project: string, id: string | null) {
  return useQuery({
    queryKey: ['run', project, id],
    queryFn: ({ signal }) => api.getRun(project, id ?? '', signal),
    enabled: id !== null,
    // An ended run may still get an answer that came late, so it is looked at now and then.
    refetchInterval: (query) => (query.state.data && !isOpen(query.state.data.state) ? POLL_SLOW : POLL_LIVE),
  });
}

export function useLedger(
  project: string,
  filter: { job: string; from?: string; to?: string; skip?: number; limit?: number },
) {
  return useQuery({
    queryKey: ['ledger', project, filter],
    queryFn: ({ signal }) => api.listLedger(project, filter, signal),
    refetchInterval: POLL_LIST * 2,
    placeholderData: keepPreviousData,
  });
}

export function useExplain(project: string, job: string) {
  return useQuery({
    queryKey: ['explain', project, job],
    queryFn: ({ signal }) => api.explainJob(project, job, signal),
    refetchInterval: POLL_LIST,
  });
}

export function useSchedulers() {
  return useQuery({ queryKey: ['schedulers'], queryFn: ({ signal }) => api.listSchedulers(signal), refetchInterval: POLL_LIST });
}

export function useScheduler(node: string) {
  return useQuery({ queryKey: ['scheduler', node], queryFn: ({ signal }) => api.getScheduler(node, signal), refetchInterval: POLL_LIST });
}

export function useSchedulerJobs(node: string, filter: { skip: number; limit: number }) {
  return useQuery({
    queryKey: ['schedulerjobs', node, filter],
    queryFn: ({ signal }) => api.listSchedulerJobs(node, filter, signal),
    refetchInterval: POLL_LIST * 2,
    placeholderData: keepPreviousData,
  });
}

export function useSchedulersVerb() {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (request: { verb: api.SchedulerVerb; node: string }) => api.schedulersVerb(request.verb, [request.node]),
    onSettled: refresh,
  });
}

export function useMoveJobs(project: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (request: { names: string[]; node: string | null }) => api.moveJobs(project, request.names, request.node),
    onSettled: refresh,
  });
}

export function useTokens(filter: { skip: number; limit: number }) {
  return useQuery({
    queryKey: ['tokens', filter],
    queryFn: ({ signal }) => api.listTokens(filter, signal),
    refetchInterval: POLL_SLOW,
    placeholderData: keepPreviousData,
  });
}

export function useCreateToken() {
  const refresh = useRefresh();
  return useMutation({ mutationFn: api.createToken, onSuccess: refresh });
}

export function useRevokeTokens() {
  const refresh = useRefresh();
  return useMutation({ mutationFn: api.revokeTokens, onSettled: refresh });
}

export function useCronNext(cron: string, timezone: string, count: number) {
  return useQuery({
    queryKey: ['cron', cron, timezone, count],
    queryFn: ({ signal }) => api.cronNext({ cron, timezone, from: new Date().toISOString(), count }, signal),
    enabled: cron !== '',
    retry: false,
    staleTime: 30_000,
  });
}

/** After a write, everything of the project is looked at again. */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries();
}

export function useJobsVerb(project: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (request: { verb: api.JobVerb; names: string[]; params?: string }) =>
      api.jobsVerb(project, request.verb, request.names, request.params),
    onSettled: refresh,
  });
}

export function useTriggersVerb(project: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (request: { verb: 'pause' | 'resume'; keys: { job: string; trigger: string }[] }) =>
      api.triggersVerb(project, request.verb, request.keys),
    onSettled: refresh,
  });
}

export function useCancelRuns(project: string) {
  const refresh = useRefresh();
  return useMutation({ mutationFn: (ids: string[]) => api.cancelRuns(project, ids), onSettled: refresh });
}

export function usePutJob(project: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (request: { name: string; text: string; version?: string }) =>
      api.putJob(project, request.name, request.text, request.version),
    onSuccess: refresh,
  });
}

/** Asking again helps when nobody answered; a refusal stays a refusal. */
export function worthRetry(failures: number, error: unknown): boolean {
  return failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500);
}
