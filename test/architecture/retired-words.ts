/**
 * Words that this project once used for things that the field has its own words for.
 * docs/how-it-works.md has the terms.
 */

/** Not part of any name: file, folder, type, function, variable, property. */
export const retiredNames: ReadonlySet<string> = new Set(
  `barren brakes caretaker census crew desk dice door fate floorplan happening house journal keeper leg lesson lessons loose
  mend moment offices ordeal poison portion ringing room rooms shelf spool stories story stranger switchboard talk tenants
  torn vitals walk wish wished wishes workplace`.split(/\s+/),
)

/** Not part of any sentence: comment, message, title, document. */
export const retiredPhrases: readonly RegExp[] = [
  /\bwish(es|ed)?\b/i,
  /\bbrakes?\b/i,
  /\bcaretakers?\b/i,
  /\bcensus\b/i,
  /\b(the|a|this|each|every|other) (room|house|door|desk|floor|shelf|leg|fate|happening|keeper|stranger|ordeal)s?\b/i,
  /\bfloor plan\b/i,
  /\bvitals\b/i,
  /\bwhat (became|becomes|has become) of\b/i,
  /\bfor good\b/i,
  /\b(mend|mends|mended)\b/i,
  /\bproof-?read/i,
  /\bwake-up call/i,
  /\btwin(s)?\b/i,
  /\b(barren|befell|happening|lessons?|likewise|ordeal|poison|portions?|somebody|torn|walk(s|ed|ing)?)\b/i,
  /\b(dice|patien(ce|t)|told|troubles?)\b/i,
]

/** Names that are stored, printed or fixed: they keep the old word, and only here. */
const fixedNames: ReadonlySet<string> = new Set(['walk', 'looseObject'])

/** The words of an identifier or a file name, in lower case. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '')
}

export function retiredIn(path: string, text: string): string[] {
  const names = new Set([path, ...namesIn(text)])
  const found = [...names].flatMap((name) =>
    wordsOf(name)
      .filter((word) => retiredNames.has(word) && !fixedNames.has(name))
      .map((word) => `${path}: ${name} (${word})`),
  )
  return [...new Set(found)]
}

/** Identifiers of a source text, without its strings and comments. */
function namesIn(text: string): string[] {
  const code = text
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(/\/\/.*$/gm, ' ')
    .replace(/'(?:\\.|[^'\\\n])*'|`[^`]*`/g, ' ')
  return code.match(/[A-Za-z_$][\w$]*/g) ?? []
}

export function retiredPhrasesIn(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      retiredPhrases
        .filter((phrase) => phrase.test(line))
        .map((phrase) => `${path}:${index + 1}: ${phrase.source}: ${line.trim()}`),
    )
}
