/** The command line that logs in to a service, fit to be pasted into a shell whatever the address holds. */
export function loginCommand(baseUrl: string): string {
  const plain = /^[\w:/.~%-]+$/.test(baseUrl) ? baseUrl : `'${baseUrl.replaceAll("'", "%27")}'`;
  return `pipeline login ${plain}`;
}
