/**
 * The URL of the helper process's entry. This file must have the same depth as the thread's entry, index.ts: in the bundle both are one file,
 * and the relative URL must be right there too. The extension is .ts in the source tree and .js in a build.
 */
export const helperEntryURL = new URL(`../../helper/index${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
