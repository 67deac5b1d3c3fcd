/**
 * Compares the routes of every port with upstream's registrations: InstallAuthNotRequiredHandlers, InstallAuthRequiredHandlers and others in
 * pkg/kubelet/server/server.go, the stats handler, and the healthz server of cmd/kubelet/app/server.go.
 */
import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { HealthThread } from '../../../src/main/threads/health-thread.ts';
import { aLogger } from '../../support/logger.ts';
import { aSecureServer, type SecureServerOverrides } from '../../support/server/secure-server.ts';
import { anyPort, secureSettings } from '../../support/server/server.ts';

/**
 * `served`: a handler is registered, which may return 404. `disabled`: 405, because debug endpoints are disabled. `absent`: nothing is
 * registered.
 */
type Registration = 'served' | 'disabled' | 'absent';

interface Route {
  readonly ask: readonly [method: string, path: string];
  /** The subresources of `nodes`, one of which a client of the secure port needs. */
  readonly needs: string;
  readonly secure: Registration;
  /** The secure port with `enableDebuggingHandlers: false`. */
  readonly withoutDebugging: Registration;
  readonly readOnly: Registration;
  readonly healthz: Registration;
}

const health = { secure: 'served', withoutDebugging: 'served', readOnly: 'served', healthz: 'served' } as const;
const everyServer = { ...health, healthz: 'absent' } as const;
const debug = { secure: 'served', withoutDebugging: 'disabled', readOnly: 'disabled', healthz: 'absent' } as const;
/** Upstream registers no handler for these when debugging is disabled, and none on the read-only port. */
const secureOnly = { secure: 'served', withoutDebugging: 'absent', readOnly: 'absent', healthz: 'absent' } as const;

const routes: readonly Route[] = [
  { ask: ['GET', '/healthz'], needs: 'healthz proxy', ...health },
  { ask: ['GET', '/healthz/ping'], needs: 'healthz proxy', ...health },
  { ask: ['GET', '/healthz/syncloop'], needs: 'healthz proxy', ...health },
  { ask: ['GET', '/pods'], needs: 'pods proxy', ...everyServer },
  { ask: ['GET', '/metrics'], needs: 'metrics', ...everyServer },
  { ask: ['GET', '/metrics/slis'], needs: 'metrics', ...everyServer },
  { ask: ['DELETE', '/metrics/slis'], needs: 'metrics', ...everyServer },
  { ask: ['GET', '/metrics/probes'], needs: 'metrics', ...everyServer },
  { ask: ['GET', '/metrics/cadvisor'], needs: 'metrics', ...everyServer },
  { ask: ['GET', '/metrics/resource'], needs: 'metrics', ...everyServer },
  { ask: ['GET', '/stats/summary'], needs: 'stats', ...everyServer },
  { ask: ['POST', '/stats/summary'], needs: 'stats', ...everyServer },
  { ask: ['POST', '/run/ns/pod/app'], needs: 'proxy', ...debug },
  { ask: ['POST', '/run/ns/pod/uid/app'], needs: 'proxy', ...debug },
  { ask: ['GET', '/exec/ns/pod/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['POST', '/exec/ns/pod/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['GET', '/exec/ns/pod/uid/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['POST', '/exec/ns/pod/uid/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['GET', '/attach/ns/pod/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['POST', '/attach/ns/pod/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['GET', '/attach/ns/pod/uid/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['POST', '/attach/ns/pod/uid/app?output=1'], needs: 'proxy', ...debug },
  { ask: ['GET', '/portForward/ns/pod'], needs: 'proxy', ...debug },
  { ask: ['POST', '/portForward/ns/pod'], needs: 'proxy', ...debug },
  { ask: ['GET', '/portForward/ns/pod/uid'], needs: 'proxy', ...debug },
  { ask: ['POST', '/portForward/ns/pod/uid'], needs: 'proxy', ...debug },
  { ask: ['GET', '/containerLogs/ns/pod/app'], needs: 'proxy', ...debug },
  { ask: ['GET', '/runningpods/'], needs: 'pods proxy', ...debug },
  { ask: ['GET', '/logs/'], needs: 'log', ...debug },
  // 405 from the handler. A GET of a missing file is like a missing route.
  { ask: ['POST', '/logs/pods/web/app/0.log'], needs: 'log', ...debug },
  { ask: ['GET', '/debug/pprof/'], needs: 'proxy', ...debug },
  { ask: ['GET', '/debug/pprof/cmdline'], needs: 'proxy', ...debug },
  { ask: ['PUT', '/debug/flags/v'], needs: 'proxy', ...secureOnly },
  { ask: ['GET', '/configz'], needs: 'configz proxy', ...secureOnly },
  { ask: ['GET', '/flagz'], needs: 'configz', ...secureOnly },
  { ask: ['GET', '/statusz'], needs: 'statusz', ...secureOnly },
  { ask: ['POST', '/checkpoint/ns/pod/app'], needs: 'checkpoint', ...secureOnly },
  { ask: ['GET', '/'], needs: 'proxy', secure: 'absent', withoutDebugging: 'absent', readOnly: 'absent', healthz: 'absent' },
];

interface Answer {
  readonly status: number;
  readonly body: string;
}

function registrationOf({ status, body }: Answer): Registration {
  if (status === 405 && body === 'Debug endpoints are disabled.\n') return 'disabled';
  if (status === 404 && body === '404 page not found\n') return 'absent';
  assert.ok(status !== 401 && status !== 403, `${status} ${body}`);
  return 'served';
}

type Port = 'secure' | 'withoutDebugging' | 'readOnly' | 'healthz';

/** Runs a subtest for each row of the table. */
async function everyRoute(context: TestContext, port: Port, ask: (method: string, path: string) => Promise<Answer>): Promise<void> {
  for (const route of routes) {
    const [method, path] = route.ask;
    await context.test(`${method} ${path} is ${route[port]}`, async () => {
      assert.equal(registrationOf(await ask(method, path)), route[port]);
    });
  }
}

async function aServer(over: SecureServerOverrides = {}) {
  const { ask, server, state } = await aSecureServer({ after }, over);
  const health = HealthThread.start({ state, logger: aLogger().logger, settings: { listen: anyPort } });
  after(() => health.close());
  const plain = async (port: 'readOnly' | 'healthz') => {
    const listen = port === 'healthz' ? (await health.address())! : (await server.addresses()).readOnly!;
    return async (method: string, path: string): Promise<Answer> => {
      const response = await fetch(`http://127.0.0.1:${listen.port}${path}`, { method, redirect: 'manual' });
      return { status: response.status, body: await response.text() };
    };
  };
  return { ask: (method: string, path: string) => ask(path, { method }), plain };
}

test('every port serves the routes that upstream registers', async (context) => {
  const { ask, plain } = await aServer();
  await context.test('the secure port', (port) => everyRoute(port, 'secure', ask));
  await context.test('the read-only port', async (port) => everyRoute(port, 'readOnly', await plain('readOnly')));
  await context.test('the healthz port', async (port) => everyRoute(port, 'healthz', await plain('healthz')));
});

test('without debugging handlers the secure port serves the routes that upstream registers', async (context) => {
  const handlers = { ...secureSettings('').handlers, debugging: false };
  const { ask } = await aServer({ secure: { handlers } });
  await everyRoute(context, 'withoutDebugging', ask);
});

test('every route of the secure port requires authentication and authorization', async (context) => {
  const authentication = { ...secureSettings('').authentication, anonymous: false };
  const withoutAnonymous = await aServer({ secure: { authentication } });
  const withAnonymous = await aServer({ secure: { authorization: { authorizedTTLMs: 0, unauthorizedTTLMs: 0 } } });
  for (const { ask: request, needs, secure } of routes) {
    if (secure !== 'served') continue;
    await context.test(`${request.join(' ')} needs ${needs}`, async () => {
      assert.deepEqual(await withoutAnonymous.ask(...request).then(({ status, body }) => [status, body]), [401, 'Unauthorized']);
      const { status, body } = await withAnonymous.ask(...request);
      assert.equal(status, 403);
      assert.match(
        body,
        new RegExp(`^Forbidden \\(user=system:anonymous, verb=[a-z]+, resource=nodes, subresource\\(s\\)=\\[${needs}\\]\\)\\n$`),
      );
    });
  }
});
