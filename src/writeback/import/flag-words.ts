/** How people and spreadsheets write true and false. A spreadsheet writes them in the language of its user. */

const trueWords = `true yes y on x 1 1.0 ✓ ✔ ☑ ☒ ja j wahr oui vrai sí si verdadero vero sim verdadeiro waar tak prawda sant
  sand sann tosi pravda doğru igaz да истина правда はい 是`
const falseWords = `false no n off 0 0.0 ✗ ✘ ☐ nein falsch non faux falso nee onwaar nie fałsz falskt falsk usann epätosi
  nepravda yanlış hamis нет ложь неправда いいえ 否`

const flags: ReadonlyMap<string, boolean> = new Map([
  ...wordsOf(trueWords).map((word) => [word, true] as const),
  ...wordsOf(falseWords).map((word) => [word, false] as const),
])

/** Undefined if it is neither. */
export function parseFlag(text: string): boolean | undefined {
  return flags.get(text.trim().normalize().toLowerCase()) ?? flags.get(text.trim().normalize().toLocaleLowerCase('tr'))
}

function wordsOf(words: string): readonly string[] {
  return words.split(/\s+/)
}
