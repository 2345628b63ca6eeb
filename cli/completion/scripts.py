# SPDX-License-Identifier: Apache-2.0
"""The completion scripts of the shells: each hands the line up to the cursor to `railgauge completion --line`.

Bash splits words at COMP_WORDBREAKS as well (its manual, "Programmable Completion"), so it gets what follows the
last break.
"""

BASH = """\
# railgauge completion for bash: source <(railgauge completion bash)
_railgauge() {
    local value
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        COMPREPLY+=("$value")
    done < <(railgauge completion --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]] && compopt -o nospace
    return 0
}
complete -o nosort -F _railgauge railgauge
"""
ZSH = """\
#compdef railgauge
# railgauge completion for zsh: source <(railgauge completion zsh), or as _railgauge in a folder of $fpath
_railgauge() {
    local value text
    local -a values open texts opentexts
    while IFS=$'\\t' read -r value text; do
        if [[ $value == *[/=] ]]; then
            open+=("$value") opentexts+=("$value${text:+  -- $text}")
        else
            values+=("$value") texts+=("$value${text:+  -- $text}")
        fi
    done < <(railgauge completion --line "${(j: :)${(@q)words[1,CURRENT-1]}} $PREFIX" 2>/dev/null)
    (( $#values )) && compadd -l -V railgauge -d texts -a values
    (( $#open )) && compadd -l -V railgauge -S '' -d opentexts -a open
    return 0
}
if [[ $funcstack[1] == _railgauge ]]; then
    _railgauge "$@"
else
    compdef _railgauge railgauge
fi
"""
FISH = """\
# railgauge completion for fish: railgauge completion fish > ~/.config/fish/completions/railgauge.fish
complete -c railgauge -f -k -a '(railgauge completion --line (commandline -cp) 2>/dev/null)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
