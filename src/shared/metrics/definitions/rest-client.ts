/**
 * Calls to the API server, with the names of every Kubernetes client (upstream component-base/metrics/prometheus/restclient). `host` is the API server's host
 * and port. Upstream declares `rest_client_exec_plugin_policy_call_total` but never registers it.
 */
import { counter, gauge, histogram } from '../define.ts';

const callLabels = ['verb', 'host'] as const;
const callSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** 64 bytes to 16 MB. */
const sizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

export const requestDuration = histogram(
  'rest_client_request_duration_seconds',
  'Request latency in seconds. Broken down by verb, and host.',
  callLabels,
  callSeconds,
);
export const dnsResolutionDuration = histogram(
  'rest_client_dns_resolution_duration_seconds',
  'DNS resolver latency in seconds. Broken down by host.',
  ['host'],
  [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30],
);
export const requestSize = histogram(
  'rest_client_request_size_bytes',
  'Request size in bytes. Broken down by verb and host.',
  callLabels,
  sizes,
);
export const responseSize = histogram(
  'rest_client_response_size_bytes',
  'Response size in bytes. Broken down by verb and host.',
  callLabels,
  sizes,
);
export const rateLimiterDuration = histogram(
  'rest_client_rate_limiter_duration_seconds',
  'Client side rate limiter latency in seconds. Broken down by verb, and host.',
  callLabels,
  callSeconds,
);
export const requests = counter('rest_client_requests_total', 'Number of HTTP requests, partitioned by status code, method, and host.', [
  'code',
  'method',
  'host',
]);
export const requestRetries = counter(
  'rest_client_request_retries_total',
  'Number of request retries, partitioned by status code, verb, and host.',
  ['code', 'verb', 'host'],
);

export const execPluginTTL = gauge(
  'rest_client_exec_plugin_ttl_seconds',
  'Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage no TLS certificates, the value will be +INF.',
);
export const execPluginCertificateRotationAge = histogram(
  'rest_client_exec_plugin_certificate_rotation_age',
  'Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. If auth exec plugin client certificates are unused, histogram will contain no data.',
  [],
  // Ten minutes to four years.
  [600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000],
);
export const execPluginCalls = counter(
  'rest_client_exec_plugin_call_total',
  'Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit code will be set to 0 if and only if the plugin call was successful.',
  ['code', 'call_status'],
);

export const transportCacheEntries = gauge('rest_client_transport_cache_entries', 'Number of transport entries in the internal cache.');
export const transportCreateCalls = counter(
  'rest_client_transport_create_calls_total',
  'Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from the cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being garbage collected, uncacheable: created and not cached',
  ['result'],
);
export const transportCAReloads = counter(
  'rest_client_transport_ca_reload_total',
  'Number of times a CA reload is attempted, partitioned by the result and reason for the reload attempt',
  ['result', 'reason'],
);
export const transportCertRotationGCCalls = counter(
  'rest_client_transport_cert_rotation_gc_calls_total',
  'Number of times a cert rotation goroutine cancel func is called via GC cleanup of the associated transport',
);
export const transportCacheGCCalls = counter(
  'rest_client_transport_cache_gc_calls_total',
  'Number of times a GC cleanup attempts to delete a transport cache entry, partitioned by the result: deleted, skipped',
  ['result'],
);
