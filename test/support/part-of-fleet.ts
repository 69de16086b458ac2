/** An entry of `agents:` in fleet.yaml or of `servers:` in config.yaml, with the comment before it. */
const entryOf = (name: string): RegExp =>
  new RegExp(`(?:^ {4}#.*\\n)*^ {4}${name}:\\n(?:^ {5,}.*\\n)+`, 'gm');

/** The text of a profile's fleet.yaml or config.yaml without the peers, or MCP servers, of these names. */
export const withoutMembers = (yaml: string, absent: readonly string[]): string =>
  absent.reduce((text, name) => text.replace(entryOf(name), ''), yaml);
