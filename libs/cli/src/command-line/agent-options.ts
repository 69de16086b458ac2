interface AgentValues {
  readonly url?: string | undefined;
  readonly 'token-env'?: string | undefined;
}

/** The options that name an agent that is not of the fleet, after a space, quoted for a shell; undefined for the fleet. */
export function agentOptions(values: AgentValues): string | undefined {
  if (values.url === undefined) return undefined;
  const variable = values['token-env'];
  return ` --url ${quoted(values.url)}${variable === undefined ? '' : ` --token-env ${quoted(variable)}`}`;
}

const quoted = (word: string): string =>
  /^[\w.:/@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
