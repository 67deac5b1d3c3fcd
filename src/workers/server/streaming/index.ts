/**
 * exec, attach and port forward: the runtime is asked for a URL, and from there on bytes go between the client's connection and the
 * runtime's, unread. Beside them what also runs something in a container: `/run` and `/checkpoint`. The router calls them once the
 * client may do it. Upstream: pkg/kubelet/server/server.go (getExec, …) and apimachinery's proxy.UpgradeAwareHandler.
 */
import { StreamHandler } from './stream-handler.ts';
import type { Streaming, StreamingDependencies } from './types.ts';

export type { Streaming, StreamingDependencies, StreamRequest } from './types.ts';

/** One for the thread: all listeners share it. */
export function createStreaming(dependencies: StreamingDependencies): Streaming {
  return new StreamHandler(dependencies);
}
