/** Names of people who look alike: nobody signs in under one that could be taken for another person's. Pure. */

/** A person may write their name in letters of another case or width. */
export function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

/** Letters of other scripts beside those of Latin that look the same, as Unicode's list of confusable characters has them. */
const pairs =
  'аa бb вb гr дa еe зe иu іi їi јj кk ӏl мm нh оo пn рp сc тt уy фo хx чy шw ьb эe ԁd һh ѕs ԛq ԝw яr αa βb γy εe ηn ιi κk μu νv οo ρp σo τt υu χx ωw ԍg ոn օo սu հh ıi ɑa ɡg øo đd łl ħh ŧt ßb æa œo'
const latinOf = new Map(pairs.split(' ').map(([letter = '', latin = '']) => [letter, latin]))

/**
 * A name with letters that no person's name has and this list does not know may look like anything, so beside people it is
 * refused as well.
 */
export function looksLike(name: string, person: string): boolean {
  const [shown, other] = [skeleton(name), skeleton(person)]
  return shown === other || shown === '' || /[^\x20-\x7e]/.test(shown)
}

/** What is left of a name when marks, what has no width, spaces and signs are gone, and what looks alike is the same. */
function skeleton(name: string): string {
  const letters = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Z}\p{C}\p{P}]/gu, '')
    .toLowerCase()
  const latin = Array.from(letters, (letter) => latinOf.get(letter) ?? letter).join('')
  return latin.replaceAll('rn', 'm').replaceAll('vv', 'w').replace(/[i1|]/g, 'l').replaceAll('0', 'o')
}
