/**
 * exec, attach and port forward: the runtime returns a URL, and the client's connection is proxied to it. Also `/run` and `/checkpoint`,
 * which act on a container too. The router calls this part after authorization. Upstream: pkg/kubelet/server/server.go (getExec, …) and
 * apimachinery's proxy.UpgradeAwareHandler.
 */
export { createStreaming } from './stream-handler.ts';
export type { Streaming, StreamingDependencies, StreamRequest } from './streaming-interface.ts';
