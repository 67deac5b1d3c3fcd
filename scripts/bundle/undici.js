/**
 * The part of undici that the bundle includes: the HTTP clients. The package's entry also loads fetch, WebSockets, caches and mocks, which cost
 * 20 ms at the start of main and memory in every process.
 */
import api from 'undici/lib/api/index.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';

// Adds `dispatcher.request` and similar methods.
Object.assign(Dispatcher.prototype, api);

export { default as buildConnector } from 'undici/lib/core/connect.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';
