/** Authentication and authorization of the server's clients (upstream apiserver pkg/authentication/token/cache, with its empty help texts, and request/x509). */
import { counter, gauge, histogram } from '../define.ts';

/** `status` is `hit` or `miss`, here and for the duration. */
export const tokenCacheRequests = counter('authentication_token_cache_request_total', '', ['status']);
export const tokenCacheRequestDuration = histogram('authentication_token_cache_request_duration_seconds', '', ['status']);
/** `status` is `ok` or `error`. */
export const tokenCacheFetches = counter('authentication_token_cache_fetch_total', '', ['status']);
/** `status` is `in_flight`: reviews under way; `blocked`: requests that wait for them. */
export const tokenCacheActiveFetches = gauge('authentication_token_cache_active_fetch_count', '', ['status']);

/** Upstream's buckets: 0 to one year (of 360 days), in seconds. */
const lifetimes = [0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000];
export const clientCertificateExpiration = histogram(
  'apiserver_client_certificate_expiration_seconds',
  'Distribution of the remaining lifetime on the certificate used to authenticate a request.',
  [],
  lifetimes,
);

const reviewLatencies = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
const totalHelp = 'Number of HTTP requests partitioned by status code.';
const latencyHelp = 'Request latency in seconds. Broken down by status code.';
/** Attempts of reviews at the API server. The label is the status code, or `<error>` without a response. */
export const tokenReviewTries = counter('apiserver_delegated_authn_request_total', totalHelp, ['code']);
export const tokenReviewDuration = histogram('apiserver_delegated_authn_request_duration_seconds', latencyHelp, ['code'], reviewLatencies);
export const accessReviewTries = counter('apiserver_delegated_authz_request_total', totalHelp, ['code']);
export const accessReviewDuration = histogram('apiserver_delegated_authz_request_duration_seconds', latencyHelp, ['code'], reviewLatencies);
