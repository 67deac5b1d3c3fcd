/** Runs a lifecycle hook of a container: a command in the container, an HTTP request, or a sleep (upstream pkg/kubelet/lifecycle/handlers.go). */
import { joinHostPort } from '../../../../shared/dial/socket-error.ts';
import { cutMessage } from '../../../../shared/errors/cut-message.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { toHttpGet } from '../../../../shared/http-get/request-parts.ts';
import type { Container, LifecycleHandler } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import { lifecycleHttpFallbacks, sleepHooksTerminated } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { formatPod } from '../format-pod.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { isPlainHttpResponse, toPlainHttp } from '../hook-request.ts';

/** One day. Upstream sets no deadline; this one bounds every wait. Usually the grace period or a stop of the task ends a hook sooner. */
const hookDeadlineMs = 24 * 3600 * 1000;

export interface Hook {
  readonly handler: LifecycleHandler;
  readonly containerID: ContainerID;
  readonly container: string;
  readonly ports: NonNullable<Container['ports']>;
  /** The default host of an HTTP hook. */
  readonly podIP: string | undefined;
}

export type HookContext = Pick<TaskContext, 'runtime' | 'httpGet' | 'clock' | 'events' | 'identity' | 'logger'>;

/** A pod in the host's network has the node's IP. Upstream has no IP for such a pod, so its hook fails there. */
export function podIPForHooks({ identity, node }: Pick<TaskContext, 'identity' | 'node'>, podIPs: readonly string[]): string | undefined {
  return podIPs[0] ?? (identity.pod?.spec.hostNetwork ? node.hostIPs[0] : undefined);
}

/**
 * Resolves when the hook has succeeded. Rejects with the signal's reason when the signal aborts, else with KubeletError `reason`. The message
 * may contain output of the container: it may go into the container's status but not into events.
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
    const message = `${describeHandler(handler)} for Container "${hook.container}" in Pod "${formatPod(context.identity)}" failed - error: ${messageOf(err)}`;
    throw new KubeletError(reason, message, { cause: err });
  }
}

function describeHandler({ exec, httpGet, sleep }: LifecycleHandler): string {
  if (exec) return `Exec lifecycle hook ([${shownCommand(exec.command)}])`;
  if (httpGet) return `HTTP lifecycle hook (${cutMessage(httpGet.path ?? '', maxShownLength)})`;
  return sleep ? `Sleep lifecycle hook (${sleep.seconds})` : 'Lifecycle hook';
}

/** A long command must leave room for the output, which says why it failed. */
const maxShownLength = 1024;

function shownCommand(command: readonly string[] = []): string {
  return cutMessage(command.join(' '), maxShownLength);
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
    // As upstream, the text ends with the command's output as its message. A call that fails has no output.
    throw new Error(`${rpcErrorOf(err)}, message: ""`);
  });
  if (exitCode === 0) return;
  throw new Error(`command '${shownCommand(command)}' exited with ${exitCode}: ${output}, message: ${JSON.stringify(output)}`);
}

async function runHttpGet(
  context: HookContext,
  hook: Hook,
  action: NonNullable<LifecycleHandler['httpGet']>,
  signal: AbortSignal,
): Promise<void> {
  if (!action.host && hook.podIP === undefined) throw new Error('the pod has no IP address');
  const target = toHttpGet(action, hook.ports, hook.podIP ?? '', 'lifecycle');
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hookDeadlineMs)]);
  try {
    await context.httpGet(target, deadline);
  } catch (err) {
    if (!isPlainHttpResponse(err)) throw err;
    const address = joinHostPort(target.host, target.port);
    context.logger.info({ host: address }, 'https request of a lifecycle hook got an http response, trying http');
    await context.httpGet(toPlainHttp(target), deadline).catch(() => {
      deadline.throwIfAborted();
      // The first error names what is wrong with the hook. Upstream reports it, too.
      throw err;
    });
    lifecycleHttpFallbacks.inc();
    const message = `request to HTTPS lifecycle hook ${address} got HTTP response, retry with HTTP succeeded`;
    context.events.onPod('Warning', 'LifecycleHTTPFallback', message);
  }
}
