// Every address of the interface.
const e = encodeURIComponent;

export const paths = {
  jobs: (project: string) => `/projects/${e(project)}/jobs`,
  newJob: (project: string) => `/projects/${e(project)}/new-job`,
  job: (project: string, job: string, tab?: string) => `/projects/${e(project)}/jobs/${e(job)}${tab && tab !== 'overview' ? `/${tab}` : ''}`,
  editJob: (project: string, job: string) => `/projects/${e(project)}/jobs/${e(job)}/edit`,
  runs: (project: string, filter?: Record<string, string>) => `/projects/${e(project)}/runs${filter ? `?${new URLSearchParams(filter)}` : ''}`,
  schedulers: () => '/schedulers',
  scheduler: (node: string) => `/schedulers/${e(node)}`,
  tokens: () => '/tokens',
  run: (project: string, id: string) => `/projects/${e(project)}/runs/${e(id)}`,
};

/** The name that a segment of an address stands for; one that is badly written stands for itself. */
export function named(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const KEY = 'carillon.project';

export function lastProject(): string {
  try {
    return localStorage.getItem(KEY) ?? 'default';
  } catch {
    return 'default';
  }
}

export function rememberProject(project: string): void {
  try {
    localStorage.setItem(KEY, project);
  } catch {
    // the next visit starts at `default`
  }
}
