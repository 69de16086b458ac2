type Read = { readonly value: string | undefined } | { readonly problem: string } | { readonly kept: Kept };

/** `whole`: a placeholder stays with its default, which `true` drops; false: it is replaced. */
export type Kept = boolean | 'whole';

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}|\$\{/g;

/**
 * Replaces the placeholders in a text: `${NAME}`, `${NAME:-default}` (for an unset variable), `$${` for a literal `${`.
 * `read` returns the value of a variable, or a problem, or how the placeholder is kept. Returns the text, which is meaningless
 * if there are problems, the variables whose values were inserted, and whether the text is exactly one placeholder.
 */
export function interpolate(text: string, read: (name: string) => Read) {
  const names: string[] = [];
  const problems: string[] = [];
  let sole = false;
  const replaced = text.replace(
    PLACEHOLDER,
    (match: string, name: string | undefined, fallback: string | undefined) => {
      if (match === '$${') return '${';
      if (name === undefined) {
        problems.push(
          `"\${" does not start a placeholder; write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`,
        );
        return '';
      }
      const found = read(name);
      if ('kept' in found) return found.kept === 'whole' ? match : `\${${name}}`;
      if (match === text) sole = true;
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
