import { useEffect, useState } from './vendor.js';

/** Light and dark: as the system has it, until the person chooses. The choice stays in this browser. */
const KEY = 'theme';
const system = matchMedia('(prefers-color-scheme: dark)');

const chosen = () => {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : null;
};

/** @returns {'light' | 'dark'} */
export const currentTheme = () => chosen() ?? (system.matches ? 'dark' : 'light');

/** Writes the theme to the document, and keeps it there when the system changes. */
export function startTheme() {
  const write = () => {
    document.documentElement.dataset['theme'] = currentTheme();
    dispatchEvent(new Event('themechange'));
  };
  system.addEventListener('change', write);
  write();
}

/** @param {'light' | 'dark'} theme */
export function chooseTheme(theme) {
  if (theme === (system.matches ? 'dark' : 'light')) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  document.documentElement.dataset['theme'] = theme;
  dispatchEvent(new Event('themechange'));
}

/** @returns {'light' | 'dark'} */
export function useTheme() {
  const [theme, setTheme] = useState(currentTheme());
  useEffect(() => {
    const read = () => setTheme(currentTheme());
    addEventListener('themechange', read);
    return () => removeEventListener('themechange', read);
  }, []);
  return theme;
}
