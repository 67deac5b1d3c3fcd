/** The configuration can't be used. The message is one line that an operator can act on. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}
