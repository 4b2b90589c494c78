/** When two names are the same person's: whoever compares names of people compares them folded. */

/**
 * In any case and width of letters, however they are composed, as people type names in different
 * ways. Upper case comes first, as ß and SS, or ı and I, differ in lower case. In code and not in
 * SQL: `lower` of SQLite, and of Postgres with the locale C, knows the letters of ASCII only.
 */
export function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll('i\u0307', 'i')
    .replaceAll('ς', 'σ')
    .replace(/\s+/g, ' ')
    .trim()
}

export function isSamePerson(name: string, other: string): boolean {
  return foldName(name) === foldName(other)
}
