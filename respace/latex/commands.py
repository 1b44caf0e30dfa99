r"""What the commands and environments of running text do to it."""

from __future__ import annotations

from respace.latex.symbols import names

# Environments that are not running text: displays, floats, code, drawings, lists of references.
DROPPED_ENVIRONMENTS = names(
    """equation align gather multline eqnarray displaymath flalign alignat dmath dgroup darray equationarray
    IEEEeqnarray xalignat xxalignat empheq narrowmultline boxedEquation mathpar mathparpagebreakable array tabular
    tabularx tabulary longtable supertabular tabbing table sidewaystable wraptable deluxetable tblr longtblr xltabular
    ctable threeparttable tablenotes figure sidewaysfigure wrapfigure marginfigure subfigure SCfigure floatrow
    myfigureht myfig mywrapfig mywrapfigsimp tikzpicture tikzcd pspicture picture asy circuitikz xy CD diagram forest
    pgfpicture axis feynman feynmandiagram verbatim Verbatim lstlisting minted code alltt BVerbatim comment algorithm
    algorithmic algorithm2e algorithmicx pseudocode program algo Lalgorithm prooftree thebibliography references
    biblist filecontents CCSXML oltableau mmaCell htmlonly rawhtml sagesilent sageblock python chunk tikz scope listing
    lstinputlisting java cpp haskell agda coq lean mathematica gnuplot bmatrix pmatrix matrix smallmatrix cases aligned
    split gathered tagblock nomenclature acronym theindex abbreviations inferrules bprooftree synttree jlcode pycode
    rcode Schunk Sinput Soutput knitrout pyglist ganttchart overpic subtable subfloat teaserfigure psmatrix aligneq
    dcases rcases multlined drcases alignedat vmatrix Bmatrix Vmatrix mathematicaplot ytableau young"""
)
CAPTIONED_ENVIRONMENTS = names(
    """figure table wrapfigure wraptable marginfigure sidewaysfigure sidewaystable algorithm longtable SCfigure
    teaserfigure deluxetable"""
)
# Environments of running text that take no option: a bracket after them is text.
ENVIRONMENTS_WITHOUT_OPTION = names(
    "document abstract quote quotation verse displayquote center flushleft flushright titlepage"
)
# Environments whose first arguments are layout: how many to drop.
ENVIRONMENT_ARGUMENTS = {
    "adjustwidth": 2,
    "list": 2,
    **dict.fromkeys(names("minipage multicols spacing chapterpage parbox addmargin textblock column otherlanguage"), 1),
}

# Commands that vanish together with their arguments: "o" is an optional argument, "m" a mandatory one.
_SWALLOWED_BY_SIGNATURE = {
    "": """selectfont begingroup endgroup twocolumn columnbreak listfiles hfil framed vskip@ phantomsection frontmatter
        mainmatter backmatter makeatletter makeatother raggedbottom flushbottom onecolumn singlespacing doublespacing
        onehalfspacing qedhere qed today tightlist FloatBarrier allowdisplaybreaks normalfont bgroup egroup
        listoftodos listoftheorems printglossaries makeglossaries makeindex fi null strut obeylines nonfrenchspacing
        mainlanguage smallbreak pushQED popQED linenumbers nolinenumbers balance sloppypar flushleft flushright""",
    "o": "linebreak pagebreak nolinebreak nopagebreak footnotemark shortstack printbibliography printindex",
    "oo": "makebox framebox",
    "m": """label vspace hspace pagestyle thispagestyle pagenumbering bibliography bibliographystyle graphicspath
        usetikzlibrary hypersetup captionsetup lstset tikzset pgfplotsset addbibresource pmcanonicalname pmcreated
        pmmodified pmowner pmmodifier pmtitle pmrecord pmprivacy pmauthor pmtype pmcomment pmkeywords pmsynonym
        pmrelated pmdefines PMlinkescapeword PMlinkescapephrase ollabel hyphenation glsadd newcounter stepcounter
        refstepcounter date email affil affiliation institute keywords address orcid pdfinfo includeonly theoremstyle
        setcitestyle phantom vphantom hphantom listof marginpar fxnote newlength newsavebox makelabel chaptermark
        sectionmark subsectionmark fancyhf rhead lhead chead rfoot lfoot cfoot setstretch linespread pagecolor
        selectlanguage includesvg incfig verbatiminput glossary indexdef indexsee symlabel linelabel bookmarksetup
        setmainfont dateintitle blogpage tagprob needspace Needspace enlargethispage acrodef put hyperlink hypertarget
        foreignlanguage markright AtBeginDocument AtEndDocument tikzfig sisetup shorttitle shortauthors usetagform
        citestyle ytableaushort eqn fontfamily fontseries fontshape chapterauthor DeclareGraphicsExtensions
        savebox usebox input@path newacro pacs software altaffiliation correspondingauthor tag eqlabel""",
    "om": """index todo documentclass usepackage RequirePackage PassOptionsToPackage color textcolor colorbox href
        includegraphics includepdf nocite declaretheorem inputfig scalegraphic psset lstinputlisting inputminted
        fancyhead fancyfoot scalebox rotatebox tikz setlist bibitem newtagform xymatrix fcolorbox""",
    "mm": """setlength addtolength setcounter addtocounter markboth numberwithin settowidth settoheight pmclassification
        resizebox fontsize multicolumn newcolumntype DeclareUnicodeCharacter AtBeginEnvironment AtEndEnvironment
        import subimport SetKwInOut multiput counterwithin counterwithout newglossaryentry longnewglossaryentry
        pgfmathsetmacro hyperdef DeclareFieldFormat setbeamertemplate""",
    "omm": "rule pdfbookmark multirow newfontfamily",
    "mmm": "addcontentsline definecolor newtcolorbox newtcbtheorem crefname Crefname newlist DeclareAcronym",
    "ommm": "newacronym",
    "mmmm": "titlespacing DeclareGraphicsRule imageFigure",
    "moo": "raisebox",
    "ooom": "parbox",
    "momommo": "titleformat",
    "mmmmmmmmm": "newtheoremstyle",
}
SWALLOWED = {name: signature for signature, group in _SWALLOWED_BY_SIGNATURE.items() for name in names(group)}

# Commands of two arguments of which the page shows the first.
FIRST_ARGUMENT_SHOWN = names("PMlinkname PMlinkid PMlinkexternal texorpdfstring hyperpage")

# Commands whose dimension follows without braces.
DIMENSIONED = names("kern hskip vskip mskip raise lower hangindent parindent parskip baselineskip lineskip")

SECTIONS = names(
    """part chapter section subsection subsubsection paragraph subparagraph title subtitle mychapter olsection olchapter
    chapterwithout unnumberedsection minisec frametitle addsec addchap nonumsection nonumchapter"""
)
FOOTNOTES = names("footnote footnotetext endnote sidenote tablefootnote marginnote thanks note graffito")

PARAGRAPH_COMMANDS = names(
    """par bigskip medskip smallskip newpage clearpage cleardoublepage newline bigbreak medbreak hfill vfill maketitle
    tableofcontents appendix hline dotfill hrule hrulefill listoffigures listoftables endmetadata EndArticle
    EndNoBibArticle eoce break theendnotes and"""
)

# Commands that only change how their argument looks: the argument is text whatever it holds.
APPEARANCE = names(
    """emph textbf textit textrm textsf texttt textsc textsl textup textnormal textmd text underline mbox hbox uline
    textsuperscript textsubscript uppercase lowercase MakeUppercase MakeLowercase centerline fbox bf it rm sf tt sc sl
    em bfseries itshape scshape ttfamily sffamily rmfamily small footnotesize scriptsize tiny normalsize large Large
    LARGE huge Huge centering raggedright raggedleft noindent indent protect leavevmode relax boldmath unboldmath
    enquote quote term vocab defnterm define defn alert structure strong sout hl author nobreak allowbreak sloppy
    fussy frenchspacing newterm code file PMlinkescapetext textquote textsmaller upshape slshape mdseries"""
)
