/** Quoting for log lines and messages; it is the API's own (kubernetes/go-text.ts), by the name under which the log's callers know it. */
export { goQuote } from '../kubernetes/go-text.ts';
