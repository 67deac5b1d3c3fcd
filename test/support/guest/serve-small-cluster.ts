/**
 * Runs in a guest: the API server of SmallCluster. Takes commands from files of the first folder, and appends the state of the node to a file there, a line of
 * JSON about each second. Writes its kubeconfig to the second folder. Starts no process and no thread once it runs: there may be none left.
 */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { parseTasks } from '../../../src/shared/linux/read-rlimit.ts';
import { OpenApiServer } from '../fuzz/open-api-server.ts';
import type { NodeState } from './small-cluster.ts';

const [commands = '', kubeconfigFolder = ''] = process.argv.slice(2);
const answerTimeoutMs = 30_000;
const api = await OpenApiServer.start({ after: () => {} }, kubeconfigFolder);
/** A name is also the UID. */
const names = new Set<string>();

function readHealth(): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port: 10_248, path: '/healthz', agent: false, timeout: answerTimeoutMs }, (answer) => {
      answer.resume().on('error', (err) => resolve(err.message));
      answer.on('end', () => resolve(String(answer.statusCode)));
    });
    request.on('timeout', () => request.destroy(new Error('no answer'))).on('error', (err) => resolve(err.message));
  });
}

function execute(file: string): void {
  const [command, name = ''] = file.split(' ');
  if (command === 'delete') api.delete(name);
  else api.put(JSON.parse(readFileSync(join(commands, 'pods', file), 'utf8')) as Record<string, unknown>);
  names.add(name);
  rmSync(join(commands, 'pods', file));
}

for (;;) {
  for (const file of readdirSync(join(commands, 'pods'))) execute(file);
  const pods = [...names].filter((name) => api.pod(name)).map((name): [string, PodStatus] => [name, api.pod(name)?.status ?? {}]);
  const state: NodeState = {
    at: new Date().toISOString(),
    health: await readHealth(),
    tasks: parseTasks(readFileSync('/proc/loadavg', 'utf8')) ?? 0,
    pods: Object.fromEntries(pods),
  };
  appendFileSync(join(commands, 'states'), `${JSON.stringify(state)}\n`);
  await sleep(1000);
}
