/** What an MCP server may see of the gateway's environment; everything else holds or may hold secrets. */
const INHERITED = ['PATH', 'HOME', 'LANG'] as const;

/** The whole environment of a stdio server: the allow-list, plus what its configuration sets. */
export function serverEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = own[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...configured };
}
