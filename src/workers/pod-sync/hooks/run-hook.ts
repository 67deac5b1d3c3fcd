/** Runs a lifecycle hook of a container: a command in it, an HTTP request to it, or a sleep (upstream pkg/kubelet/lifecycle/handlers.go). */
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Container, LifecycleHandler } from '../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { lifecycleHttpFallbacks, sleepHooksTerminated } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { formatPod } from '../format-pod.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { hookRequest, isPlainHttpAnswer, withScheme } from './http-get.ts';

/** Upstream gives a hook no deadline of its own; a day, so that nothing here waits for ever. A stop or the grace period ends it sooner. */
const hookDeadlineMs = 24 * 3600 * 1000;

export interface Hook {
  readonly handler: LifecycleHandler;
  readonly containerID: ContainerID;
  readonly container: string;
  readonly ports: NonNullable<Container['ports']>;
  /** Where an HTTP hook that names no host goes. */
  readonly podIP: string | undefined;
}

export type HookContext = Pick<TaskContext, 'runtime' | 'httpGet' | 'clock' | 'events' | 'identity' | 'logger'>;

/** A pod in the host's network is reached by the node's address; upstream finds none for it, and its hook fails. */
export function podIPForHooks(
  { identity: about, node }: Pick<TaskContext, 'identity' | 'node'>,
  podIPs: readonly string[],
): string | undefined {
  return podIPs[0] ?? (about.pod?.spec.hostNetwork ? node.hostIPs[0] : undefined);
}

/**
 * Resolves when the hook has succeeded. Rejects with the signal's reason when that aborts, else with KubeletError `reason`, whose message may
 * hold output of the container: for the container's status, not for events.
 */
export async function runHook(context: HookContext, hook: Hook, reason: string, signal: AbortSignal): Promise<void> {
  const { handler } = hook;
  try {
    if (handler.exec) await runExec(context, hook, handler.exec.command ?? [], signal);
    else if (handler.httpGet) await runHttpGet(context, hook, handler.httpGet, signal);
    else if (handler.sleep) await runSleep(context, handler.sleep.seconds, signal);
    else throw new Error('invalid handler: it has neither exec, httpGet nor sleep');
  } catch (err) {
    signal.throwIfAborted();
    const message = `${nameOf(handler)} for Container "${hook.container}" in Pod "${formatPod(context.identity)}" failed - error: ${messageOf(err)}`;
    throw new KubeletError(reason, message, { cause: err });
  }
}

function nameOf({ exec, httpGet, sleep }: LifecycleHandler): string {
  if (exec) return `Exec lifecycle hook ([${(exec.command ?? []).join(' ')}])`;
  if (httpGet) return `HTTP lifecycle hook (${httpGet.path ?? ''})`;
  return sleep ? `Sleep lifecycle hook (${sleep.seconds})` : 'Lifecycle hook';
}

async function runSleep({ clock }: HookContext, seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(seconds * 1000, signal);
  } catch (err) {
    sleepHooksTerminated.inc();
    throw err;
  }
}

async function runExec({ runtime }: HookContext, hook: Hook, command: readonly string[], signal: AbortSignal): Promise<void> {
  const { exitCode, output } = await runtime.execSync(hook.containerID, command, hookDeadlineMs, signal).catch((err: unknown) => {
    throw new Error(`${rpcErrorOf(err)}, message: ""`);
  });
  if (exitCode === 0) return;
  throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${output}, message: ${JSON.stringify(output)}`);
}

async function runHttpGet(
  context: HookContext,
  hook: Hook,
  action: NonNullable<LifecycleHandler['httpGet']>,
  signal: AbortSignal,
): Promise<void> {
  if (!action.host && hook.podIP === undefined) throw new Error('the pod has no IP address');
  const request = hookRequest(action, hook.ports, hook.podIP ?? '');
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hookDeadlineMs)]);
  try {
    await context.httpGet(request, deadline);
  } catch (err) {
    if (!isPlainHttpAnswer(err)) throw err;
    context.logger.info({ host: request.url.host }, 'https request of a lifecycle hook was answered in http, trying http');
    // A credential that was meant for TLS does not go out in the open.
    const { authorization: _secret, ...headers } = request.headers;
    await context.httpGet({ url: withScheme(request.url, 'http'), headers }, deadline);
    lifecycleHttpFallbacks.inc();
    context.events.onPod(
      'Warning',
      'LifecycleHTTPFallback',
      `request to HTTPS lifecycle hook ${request.url.host} got HTTP response, retry with HTTP succeeded`,
    );
  }
}
