/** Thrown when the configuration is unusable. The message is one line that an operator can act on. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}
