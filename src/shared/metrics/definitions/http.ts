/** Requests to the kubelet's servers (upstream pkg/kubelet/server/metrics). */
import { counter, gauge, histogram } from '../define.ts';

const labels = ['method', 'path', 'server_type', 'long_running'] as const;

export const httpRequests = counter('kubelet_http_requests_total', 'Number of the http requests received since the server started', labels);
export const httpRequestsDuration = histogram(
  'kubelet_http_requests_duration_seconds',
  'Duration in seconds to serve http requests',
  labels,
);
export const httpInflightRequests = gauge('kubelet_http_inflight_requests', 'Number of the inflight http requests', labels);
/** WebSocket requests that the server translates to the runtime's protocol. */
export const webSocketStreamingRequests = counter(
  'kubelet_websocket_streaming_requests_total',
  'Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
  ['subresource'],
);
/** Not in upstream: connections that a server closed to limit its number of connections. */
export const serverConnectionsEnded = counter(
  'kubelet_server_connections_ended_total',
  'Number of client connections that a server of the kubelet ended to stay within its bounds',
  ['server', 'reason'],
);
