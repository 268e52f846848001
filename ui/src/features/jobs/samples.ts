// The shortest job, as a file and as the editor begins with it.
export const SHORTEST_YAML = `apiVersion: carillon/v1
kind: Job
metadata: {project: PROJECT, name: ping}
spec:
  triggers: [{every: 10s}]
  graph: [{step: ping, url: "http://127.0.0.1:9000/greet"}]
`;

export function newJobText(project: string): string {
  return `{
  "apiVersion": "carillon/v1",
  "kind": "Job",
  "metadata": {
    "project": ${JSON.stringify(project)},
    "name": "ping",
    "description": ""
  },
  "spec": {
    "triggers": [
      {"name": "half-hourly", "cron": "0 0/30 * * * ?"}
    ],
    "graph": [
      {"step": "ping", "url": "http://127.0.0.1:9000/greet"}
    ]
  }
}
`;
}
