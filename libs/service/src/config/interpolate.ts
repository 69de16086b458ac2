/** What became of one text with placeholders. */
export interface Interpolated {
  readonly text: string;
  /** The variables whose values went in. */
  readonly names: readonly string[];
  /** Whether the text is one placeholder and nothing else. */
  readonly sole: boolean;
  /** What is wrong, if anything; then the text is of no use. */
  readonly problems: readonly string[];
}

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}|\$\{/g;

/**
 * Puts variables into a text: `${NAME}`, `${NAME:-default}` (taken when the variable is unset), `$${` for a literal
 * `${`. `read` may answer with a problem of its own.
 */
export function interpolate(
  text: string,
  read: (name: string) => { readonly value: string | undefined } | { readonly problem: string },
): Interpolated {
  const names: string[] = [];
  const problems: string[] = [];
  let sole = false;
  const replaced = text.replace(
    PLACEHOLDER,
    (match: string, name: string | undefined, fallback: string | undefined) => {
      if (match === '$${') return '${';
      if (name === undefined) {
        problems.push(
          `"\${" starts no placeholder; write \${NAME} or \${NAME:-default}, or $\${ for the characters themselves`,
        );
        return '';
      }
      if (match === text) sole = true;
      const found = read(name);
      if ('problem' in found) problems.push(found.problem);
      else if (found.value !== undefined) {
        names.push(name);
        return found.value;
      } else if (fallback === undefined) {
        problems.push(`the variable ${name} is not set; set it, or give a default: \${${name}:-value}`);
      }
      return fallback ?? '';
    },
  );
  return { text: replaced, names, sole, problems };
}
