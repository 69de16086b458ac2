/**
 * The NODE_OPTIONS of a process: its own, then those of the operator, which take precedence because Node.js uses the last
 * of two values.
 */
export const nodeOptions = (own: string, operators = ''): string => `${own} ${operators}`.trimEnd();
